"""The URLs of the site, with added views that read and write the session."""

from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from accounts.models import Session, User


def who(request: HttpRequest) -> HttpResponse:
    """Return the user's name and the values stored in the session."""
    kept = {name: value for name, value in request.session.items() if not name.startswith("_")}
    return JsonResponse({"user": request.user.get_username(), "kept": kept})


async def awho(request: HttpRequest) -> HttpResponse:
    """Return the user's name, read asynchronously."""
    user = await request.auser()
    return JsonResponse({"user": user.get_username(), "kept": {}})


def keep(request: HttpRequest) -> HttpResponse:
    """Store ``colour`` in the session."""
    request.session["colour"] = request.GET["colour"]
    return HttpResponse()


def ended_meanwhile(request: HttpRequest) -> HttpResponse:
    """Delete all sessions, as another request would, after this one has changed its session."""
    request.session["colour"] = request.user.get_username()
    Session.objects.all().delete()
    return HttpResponse()


@csrf_exempt
def change_password(request: HttpRequest) -> HttpResponse:
    """Change the password as Django's own view does."""
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
