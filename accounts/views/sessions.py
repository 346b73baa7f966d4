"""The page that lists and ends the user's own sessions."""

from django.contrib import messages
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views import View

from accounts.models import User
from accounts.sessions.listing import MAX_SESSIONS, find_session, list_sessions
from accounts.sessions.services import end_other_sessions, end_session
from common.web import personal_page, redirect_to_view


@method_decorator(personal_page, name="dispatch")
class Sessions(View):
    """GET: list sessions. POST ``end=HANDLE``: end one; ``others=1``: end all but the current one. 404 if not found."""

    http_method_names = ["get", "head", "post", "options"]

    def get(self, request: HttpRequest) -> HttpResponse:
        lines = list_sessions(_get_user(request).pk, _get_current_digest(request))
        seen = {
            "sessions": lines,
            "has_others": len(lines) > 1,
            "is_cut": len(lines) >= MAX_SESSIONS,
            "most": MAX_SESSIONS,
        }
        return render(request, "accounts/sessions.html", seen)

    def post(self, request: HttpRequest) -> HttpResponse:
        if "others" in request.POST:
            count = end_other_sessions(_get_user(request), _get_current_digest(request))
            text = ngettext("Logged out %(count)s other browser.", "Logged out %(count)s other browsers.", count)
            messages.success(request, text % {"count": count})
            return redirect_to_view("accounts:sessions")
        digest = find_session(_get_user(request).pk, request.POST.get("end", ""))
        if digest is None:
            raise Http404(_("Session not found."))
        if digest == _get_current_digest(request):
            logout(request)
            messages.success(request, _("You are logged out."))
            return redirect_to_view("home")
        end_session(_get_user(request), digest)
        messages.success(request, _("That browser is logged out."))
        return redirect_to_view("accounts:sessions")


def _get_user(request: HttpRequest) -> User:
    user = request.user
    assert isinstance(user, User)  # guaranteed by ``personal_page``
    return user


def _get_current_digest(request: HttpRequest) -> str:
    digest: str = request.session.digest  # type: ignore[attr-defined]
    return digest
