"""The site, and pages that do with their session what tests want."""

from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from accounts.models import Session, User


def who(request: HttpRequest) -> HttpResponse:
    """Who is asking, and what the session has kept."""
    kept = {name: value for name, value in request.session.items() if not name.startswith("_")}
    return JsonResponse({"user": request.user.get_username(), "kept": kept})


async def awho(request: HttpRequest) -> HttpResponse:
    """The same, asynchronously."""
    user = await request.auser()
    return JsonResponse({"user": user.get_username(), "kept": {}})


def keep(request: HttpRequest) -> HttpResponse:
    """Keep ``colour`` in the session."""
    request.session["colour"] = request.GET["colour"]
    return HttpResponse()


def ended_meanwhile(request: HttpRequest) -> HttpResponse:
    """Another request ends the session, or all, while this one is at work and wants to save something."""
    request.session["colour"] = request.user.get_username()
    Session.objects.all().delete()
    return HttpResponse()


@csrf_exempt
def change_password(request: HttpRequest) -> HttpResponse:
    """As Django's own view does it."""
    user = User.objects.get(pk=request.user.pk)
    user.set_password(request.POST["password"])
    user.save()
    update_session_auth_hash(request, user)
    return HttpResponse()


urlpatterns = [
    path("who/", who),
    path("awho/", awho),
    path("keep/", keep),
    path("ended-meanwhile/", ended_meanwhile),
    path("change-password/", change_password),
    path("", include("config.urls")),
]
