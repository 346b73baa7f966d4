"""Views for registration, login and logout, based on Django's own views."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView, RedirectURLMixin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView

from accounts import lockout, services
from accounts.deletion import services as deletion
from accounts.deletion import tokens
from accounts.forms.entry import LoginForm, RegisterForm
from accounts.lockout import known
from accounts.lockout.backend import get_attempt
from accounts.lockout.limits import list_logins, normalize_name
from accounts.mail import addresses
from accounts.models import User
from accounts.ratelimit import get_client_address
from accounts.second_factor import entering
from accounts.users import registration
from accounts.views.answers import render_suspended
from accounts.views.limits import FormLimit, LimitedFormMixin, make_link_limit
from accounts.views.too_many import render_locked_out
from common.text import fold_address
from common.web import get_next_address

HOUR_SECONDS: Final = 3600
DAY_SECONDS: Final = 24 * HOUR_SECONDS
# Per IP address and hour. The limit on refusals prevents probing a list of names; the limit on all registrations is
# higher, so that a school class can register.
MAX_REFUSALS: Final = 60
MAX_REGISTRATIONS: Final = 500
MAX_EMAIL_REGISTRATIONS: Final = 20  # per e-mail address and day


class NextPageMixin(RedirectURLMixin):
    """Mixin that redirects to ``next`` on this site, unless it is the login, logout or registration page."""

    request: HttpRequest

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Return the URL to redirect to; "" for the default. Django refuses other hosts and schemes."""
        url = get_next_address(self.request, "", super().get_redirect_url())
        doors = [reverse(f"accounts:{name}") for name in ("login", "logout", "register")]
        return "" if urlsplit(url).path in doors else url


def _explain_if_other_account(request: HttpRequest) -> None:
    """Say that a login or registration with another name has no effect, because another tab has logged in."""
    user = request.user
    if request.method != "POST" or not user.is_authenticated:
        return
    if normalize_name(request.POST.get("username", "").strip()) not in list_logins(user.username, user.email):
        text = _("You are logged in as %(name)s. Log out first to use another account.")
        messages.info(request, text % {"name": user.get_username()})


class LogIn(NextPageMixin, LoginView):
    """Log in and redirect to ``next``. ``accounts.lockout`` limits the attempts."""

    template_name = "accounts/login.html"
    form_class = LoginForm
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _explain_if_other_account(request)
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if not user.is_active:
            return self._answer_inactive(user)
        return entering.continue_login(self.request, user, self.get_success_url())

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        this = get_attempt(self.request)
        return render_locked_out(self.request, this.wait_seconds) if this else super().form_invalid(form)

    def _answer_inactive(self, user: User) -> HttpResponse:
        """Answer a right password for an account in its grace period, which it can keep, or for a suspended one."""
        if this := get_attempt(self.request):
            lockout.record_success(this)
        scheduled = deletion.find_deletion(user)
        if scheduled is None:
            return render_suspended(self.request, user)
        if scheduled.notice:
            return render(self.request, "accounts/closed.html", {"deletion": scheduled}, status=403)
        context = {"token": tokens.make_token(user), "due_at": scheduled.due_at}
        return render(self.request, "accounts/keep.html", context)


class LogOut(LogoutView):
    """Log out, by POST only, so that an image on another site cannot log users out."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().post(request, *args, **kwargs)
        messages.success(request, _("You are logged out."))
        return response


@method_decorator([sensitive_post_parameters(), csrf_protect, never_cache], name="dispatch")
class Register(LimitedFormMixin, NextPageMixin, FormView):
    """Create a user, log the user in and redirect to ``next``, or to the first steps."""

    template_name = "accounts/register.html"
    form_class = RegisterForm
    next_page = "welcome:overview"
    kept = ("username", "email")

    def limits(self) -> Iterable[FormLimit]:
        yield self._refused
        yield FormLimit("register", get_client_address(self.request), MAX_REGISTRATIONS, HOUR_SECONDS, is_kept=True)
        if email := fold_address(self.request.POST.get("email", "").strip()):
            yield FormLimit("register-email", email, MAX_EMAIL_REGISTRATIONS, DAY_SECONDS, is_kept=True)

    @property
    def _refused(self) -> FormLimit:
        return FormLimit("register-refused", get_client_address(self.request), MAX_REFUSALS, HOUR_SECONDS, is_kept=True)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            _explain_if_other_account(request)
            return HttpResponseRedirect(self.get_redirect_url() or reverse("home"))
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: RegisterForm) -> HttpResponse:
        given = form.cleaned_data
        try:
            user = registration.register_user(given["username"], given["password1"], email=given["email"])
        except ValidationError as error:
            return self._refuse(form, error)
        self._refused.give_back()
        if (
            given["email"] and not make_link_limit(given["email"]).count_submission()
        ):  # else the user can request the link later
            addresses.send_link(user.pk)
        services.log_in(self.request, user, backend=entering.BACKEND_PATH)
        messages.success(self.request, _("Welcome, %(name)s.") % {"name": user.username})
        response = HttpResponseRedirect(self.get_success_url())
        known.remember_device(response, user)
        return response

    def _refuse(self, form: RegisterForm, error: ValidationError) -> HttpResponse:
        for field, errors in error.message_dict.items():
            form.add_error("password1" if field == "password" else field, errors)
        return self.form_invalid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        next_page = {self.redirect_field_name: self.get_redirect_url()}
        return super().get_context_data(**kwargs) | next_page
