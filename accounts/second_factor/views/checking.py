"""Pages that ask for a proof of identity: the second factor of a login, and a new proof in a session."""

from collections.abc import Iterable
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView

from accounts.deletion import services as deletion
from accounts.lockout import known
from accounts.models import User
from accounts.ratelimit import get_client_address
from accounts.second_factor import entering, factors, passkeys, pending, recent, recovery
from accounts.second_factor.forms import FactorForm, ProofForm
from accounts.views.answers import render_suspended
from accounts.views.limits import FormLimit, LimitedFormMixin
from accounts.views.passwords import make_password_limit
from common.web import get_next_address, personal_page, redirect_to, redirect_to_view

DAY_SECONDS: Final = 86_400
MAX_DEVICE_ATTEMPTS: Final = 200  # of all known devices of a user in a day
LONG_FACTOR: Final = "second-factor-long"  # the limit on recovery codes and passkeys


def list_factor_limits(request: HttpRequest, user: User, *, code: str = "", credential: str = "") -> list[FormLimit]:
    """Return the limits on attempts with a second factor of a user. Right ones do not count.

    The password alone must not be enough to use up the attempts of the owner. So a known device of the owner has
    attempts of its own, and recovery codes and passkeys, which no number of attempts would guess, have a limit for each
    address.
    """
    if credential or recovery.is_code(code):
        return [FormLimit(LONG_FACTOR, f"{user.pk} {get_client_address(request)}", 50, 900, is_kept=True)]
    device_id = known.find_device_id(request, user.username)
    subject = device_id or user.pk
    found = [
        FormLimit("second-factor", subject, 5, 900, is_kept=True),
        FormLimit("second-factor-day", subject, 50, DAY_SECONDS, is_kept=True),
    ]
    if device_id:
        # Before the account had a second factor, the password alone made any number of devices known.
        found.append(FormLimit("second-factor-devices", user.pk, MAX_DEVICE_ATTEMPTS, DAY_SECONDS, is_kept=True))
    return found


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class FactorView(LimitedFormMixin, FormView):
    """A page that asks ``owner`` for a second factor."""

    template_name = "accounts/second_factor/check.html"
    owner: User

    def limits(self) -> Iterable[FormLimit]:
        # The cleaned values, which are those that are checked.
        form = self.get_form()
        given = form.cleaned_data if form.is_valid() else {}
        values = {name: given.get(name, "") for name in ("code", "credential")}
        return list_factor_limits(self.request, self.owner, **values)

    def refuse_factor(self, form: FactorForm) -> HttpResponse:
        """Return the page with the reason why a code or a passkey was wrong."""
        if form.cleaned_data["credential"]:
            # Another tab may have asked for a passkey since, and then the answer to this page is outdated.
            form.add_error("credential", _("This passkey was not accepted. Try again."))
        else:
            form.add_error("code", _("This code is wrong or was already used. Try the next one."))
        return self.form_invalid(form)

    def give_back(self) -> None:
        """Give the attempt back after a right proof."""
        for limit in self.limits():
            limit.give_back()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = factors.read_overview(self.owner.pk)
        options = passkeys.make_request_options(self.request, self.owner.pk)
        return super().get_context_data(**kwargs) | {
            "asks_code": bool(found.app or found.codes),
            "passkey_options": options,
            "has_other_passkeys": bool(found.passkeys) and not options,
            "has_other_ways": "wait" in kwargs and all(limit.name != LONG_FACTOR for limit in self.limits()),
        }


class LoginFactor(FactorView):
    """The second step of a login."""

    form_class = FactorForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user = pending.get_user(request)
        if user is None and request.user.is_authenticated:  # another tab has finished the login
            return redirect_to_view("home")
        if user is None:
            messages.error(request, entering.get_expired_message())
            return redirect_to_view("accounts:login")
        if not factors.has_factor(user.pk):
            return redirect_to_view("accounts:factors")  # staff without a factor must add one first
        self.owner = user
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: FactorForm) -> HttpResponse:
        if not factors.check_factor(self.request, self.owner, **form.cleaned_data):
            return self.refuse_factor(form)
        self.give_back()
        target = pending.end(self.request)
        if not self.owner.is_active:
            kept = deletion.cancel_deletion(self.owner)
            if kept is None:
                messages.error(self.request, entering.get_expired_message())
                return redirect_to_view("accounts:login")
            if not kept.is_active:
                return render_suspended(self.request, kept)
            self.owner = kept
            messages.success(self.request, entering.get_kept_message(kept))
        entering.log_in(self.request, self.owner, with_factor=True)
        response = redirect_to(target)
        known.remember_device(response, self.owner)
        return response


@method_decorator(personal_page, name="dispatch")
class Confirm(FactorView):
    """Ask a logged-in user for the password or a second factor again, and redirect to ``next``."""

    form_class = ProofForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.owner = User.objects.get(pk=request.user.pk)
        return super().dispatch(request, *args, **kwargs)

    def limits(self) -> Iterable[FormLimit]:
        if self.request.POST.get("password"):
            return [make_password_limit(self.owner.pk)]
        return super().limits()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        given = self.request.POST if self.request.method == "POST" else self.request.GET
        asked = {"asks_password": self.owner.has_usable_password(), "next": given.get("next", "")}
        return super().get_context_data(**kwargs) | asked

    def form_valid(self, form: ProofForm) -> HttpResponse:
        given = dict(form.cleaned_data)
        password = given.pop("password")
        if password:
            if not self.owner.check_password(password):
                form.add_error("password", _("This password is wrong. Try again."))
                return self.form_invalid(form)
        else:
            if not factors.check_factor(self.request, self.owner, **given):
                return self.refuse_factor(form)
            # Only wrong codes count. Passwords count in any case, as on all pages that ask for one.
            self.give_back()
        recent.record_proof(self.request.session, with_factor=not password)
        # The session has more rights from here on, so its former token must not have them.
        self.request.session.cycle_key()
        return redirect_to(get_next_address(self.request, reverse("accounts:account")))
