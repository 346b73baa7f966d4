"""Register, log in, log out: Django's own views where there are any."""

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

from accounts import deletion, emails, lockout, registration, services
from accounts.forms import LoginForm, RegisterForm
from accounts.lockout import known
from accounts.lockout.backend import try_of
from accounts.models import User
from accounts.names import fold
from accounts.ratelimit import address
from accounts.second_factor import entering
from accounts.views.limits import Limit, Limited, letters_to
from accounts.views.too_many import locked_out
from config.redirects import next_address

HOUR: Final = 3600
DAY: Final = 24 * HOUR
# By one address in an hour: few that are refused, so that nobody walks a list of names; more in all, for a class.
REFUSALS: Final = 60
REGISTRATIONS: Final = 500
EMAIL_REGISTRATIONS: Final = 20  # with one e-mail address in a day, whoever has it


class WayOn(RedirectURLMixin):
    """Mixin: go on to ``next``, on this site, unless that is one of the doors."""

    request: HttpRequest

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Where to; "" when nowhere in particular. Django refuses other hosts and schemes."""
        url = next_address(self.request, "", super().get_redirect_url())
        doors = [reverse(f"accounts:{name}") for name in ("login", "logout", "register")]
        return "" if urlsplit(url).path in doors else url


class LogIn(WayOn, LoginView):
    """Log in and go on to ``next``. How often it may be tried: ``accounts.lockout``."""

    template_name = "accounts/login.html"
    form_class = LoginForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if not user.is_active:
            return self._offer_to_keep(user)
        return entering.enter(self.request, user, self.get_success_url())

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        this = try_of(self.request)
        return locked_out(self.request, this.wait) if this else super().form_invalid(form)

    def _offer_to_keep(self, user: User) -> HttpResponse:
        """The password was right, and the account waits to be deleted. Only its owner sees this."""
        if this := try_of(self.request):
            lockout.succeeded(this)
        context = {"token": deletion.make_token(user), "due_at": deletion.due_time(user)}
        return render(self.request, "accounts/keep.html", context)


class LogOut(LogoutView):
    """Log out. By POST only: a picture on another site must not do it."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().post(request, *args, **kwargs)
        messages.success(request, _("You are logged out."))
        return response


@method_decorator([sensitive_post_parameters(), csrf_protect, never_cache], name="dispatch")
class Register(Limited, WayOn, FormView):
    """Make a user, log them in and go on to ``next``, as logging in does."""

    template_name = "accounts/register.html"
    form_class = RegisterForm
    next_page = "/"
    kept = ("username", "email")

    def limits(self) -> Iterable[Limit]:
        yield self._refused
        yield Limit("register", address(self.request), REGISTRATIONS, HOUR, is_kept=True)
        if email := fold(self.request.POST.get("email", "").strip()):
            yield Limit("register-email", email, EMAIL_REGISTRATIONS, DAY, is_kept=True)

    @property
    def _refused(self) -> Limit:
        return Limit("register-refused", address(self.request), REFUSALS, HOUR, is_kept=True)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: RegisterForm) -> HttpResponse:
        given = form.cleaned_data
        try:
            user = registration.register(given["username"], given["password1"], email=given["email"])
        except ValidationError as error:
            return self._refuse(form, error)
        self._refused.give_back()
        if given["email"] and not letters_to(given["email"]).spend():  # else it waits, and can be sent again
            emails.send_link(user.pk)
        services.log_in(self.request, user, backend=entering.BACKEND)
        messages.success(self.request, _("Welcome, %(name)s.") % {"name": user.username})
        response = HttpResponseRedirect(self.get_success_url())
        known.remember(response, user)
        return response

    def _refuse(self, form: RegisterForm, error: ValidationError) -> HttpResponse:
        for field, said in error.message_dict.items():
            form.add_error("password1" if field == "password" else field, said)
        return self.form_invalid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        next_page = {self.redirect_field_name: self.get_redirect_url()}
        return super().get_context_data(**kwargs) | next_page
