"""The steps from a right password to a session, with the second factor between them where one is needed."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import lockout, services
from accounts.lockout import known
from accounts.lockout.backend import get_attempt
from accounts.mail import outgoing
from accounts.models import User
from accounts.ratelimit import get_client_address
from accounts.second_factor import factors, pending
from accounts.sessions.devices import describe_device, parse_user_agent
from common.web import redirect_to, redirect_to_view

BACKEND_PATH = "django.contrib.auth.backends.ModelBackend"


def continue_login(request: HttpRequest, user: User, target: str) -> HttpResponse:
    """Continue after a right password: log the user in and redirect to ``target``, or ask for the second factor."""
    if not (factors.is_required(user) or factors.has_factor(user.pk)):
        log_in(request, user)
        response: HttpResponse = redirect_to(target)
        known.remember_device(response, user)
        return response
    # The password was right, so its attempt is given back here: the second factor has limits of its own, and the login
    # may never be completed.
    if this := get_attempt(request):
        lockout.record_success(this)
    pending.begin(request, user, target)
    return redirect_to_view("accounts:login_factor")


def log_in(request: HttpRequest, user: User, *, with_factor: bool = False) -> None:
    """Log the user in, and send an email if the device is new."""
    # Before the login, because the cookie of a known device is valid for the user's present password and secret.
    is_known = bool(known.find_device_id(request, user.username))
    services.log_in(request, user, backend=BACKEND_PATH, with_factor=with_factor)
    if not is_known:
        device = describe_device(parse_user_agent(request.META.get("HTTP_USER_AGENT", "")))
        outgoing.queue_email("new_device", user, device=device, address=get_client_address(request))


def get_expired_message() -> str:
    """Return the message for a login that took too long."""
    return _("This page has expired. Log in to try again.")


def get_kept_message(user: User) -> str:
    """Return the message for an account whose deletion was cancelled."""
    return _("Welcome back, %(name)s. Your account is kept.") % {"name": user.username}
