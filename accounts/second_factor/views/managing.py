"""Pages for adding and removing second factors. They require a recent proof of identity, or a pending login of a user
who must add the first factor.
"""

import re
from typing import Any, Final

from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView, TemplateView

from accounts.lockout import known
from accounts.models import User
from accounts.second_factor import app_codes, entering, factors, passkeys, pending, recent, recovery, vault
from accounts.second_factor.forms import AppForm, PasskeyForm
from accounts.second_factor.models import AuthenticatorApp, Passkey
from accounts.sessions.services import end_other_sessions
from common.database import repeat_after_conflict
from common.web import redirect_to_view, require_login

PASSKEY_ID_PATTERN: Final = re.compile(r"[0-9]{1,18}")
NEW_SECRET_KEY: Final = "_app_secret"  # secret of an app that is being added, encrypted because sessions are stored


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class FactorOwnerView(View):
    """A page about the second factors of ``owner``. is_login: the owner's login is still pending."""

    owner: User
    is_login = False

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            if not recent.has_recent_proof(request):
                return recent.redirect_to_confirm(reverse("accounts:factors"))
            self.owner = User.objects.get(pk=request.user.pk)
            return super().dispatch(request, *args, **kwargs)
        user = pending.get_user(request)
        if user is None or factors.has_factor(user.pk):  # an existing factor must be given first
            return require_login(request)
        self.owner, self.is_login = user, True
        return super().dispatch(request, *args, **kwargs)

    def go_on(self, what: Promise) -> HttpResponse:
        """Report a new factor, finish a pending login, and show new recovery codes if the user has none."""
        codes = self._record_new_factor(what)
        if not self.is_login:
            recent.record_proof(self.request.session, with_factor=True)
            return self.show_codes(codes) if codes else redirect_to_view("accounts:factors")
        target = pending.end(self.request)
        entering.log_in(self.request, self.owner, with_factor=True)
        response = self.show_codes(codes, target)
        known.remember_device(response, self.owner)
        return response

    @repeat_after_conflict
    def _record_new_factor(self, what: Promise) -> list[str]:
        """Report a new factor. Return new recovery codes if the user has none."""
        with transaction.atomic():
            codes = recovery.renew_codes(self.owner.pk) if not factors.read_overview(self.owner.pk).codes else []
            factors.report_change(self.owner, what, actor=self.owner)
        return codes

    def show_codes(self, codes: list[str], target: str = "") -> HttpResponse:
        """Return the page with new recovery codes, which no other page shows."""
        context = {"codes": codes, "target": target or reverse("accounts:factors")}
        return render(self.request, "accounts/second_factor/codes.html", context)


class Factors(FactorOwnerView, TemplateView):
    """The list of second factors."""

    template_name = "accounts/second_factor/factors.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {
            "factors": factors.read_overview(self.owner.pk),
            "can_have_passkeys": passkeys.can_use_passkeys(self.request),
        }


class AddApp(FactorOwnerView, FormView):
    """Add an authenticator app, or replace the existing one."""

    template_name = "accounts/second_factor/app.html"
    form_class = AppForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        secret = self._read_secret() or app_codes.make_secret()
        self.request.session[NEW_SECRET_KEY] = vault.encrypt(secret)
        picture, text = app_codes.make_qr_code(self.owner.username, secret), app_codes.format_secret(secret)
        return super().get_context_data(**kwargs) | {"picture": picture, "secret": text}

    def _read_secret(self) -> bytes | None:
        return vault.decrypt(self.request.session.get(NEW_SECRET_KEY, ""))

    def form_valid(self, form: AppForm) -> HttpResponse:
        secret = self._read_secret()
        if secret is None or not app_codes.add_app(self.owner.pk, secret, form.cleaned_data["code"].replace(" ", "")):
            form.add_error("code", _("This is not the current code. Check the clock of your device, and try again."))
            return self.form_invalid(form)
        del self.request.session[NEW_SECRET_KEY]
        return self.go_on(factors.APP_ADDED)


def _find_passkeys(owner: User, number: str) -> QuerySet[Passkey]:
    """Return the user's passkey with the id that a request names, or none."""
    return Passkey.objects.filter(user=owner, pk=int(number) if PASSKEY_ID_PATTERN.fullmatch(number) else 0)


class AddPasskey(FactorOwnerView, FormView):
    """Add a passkey, or rename one (``?passkey=ID``)."""

    template_name = "accounts/second_factor/passkey.html"
    form_class = PasskeyForm

    @cached_property
    def renamed(self) -> Passkey | None:
        """The passkey to rename; None to add one. Raises Http404."""
        number = self.request.GET.get("passkey")
        return None if number is None else get_object_or_404(_find_passkeys(self.owner, number))

    def get_initial(self) -> dict[str, Any]:
        return {"name": self.renamed.name} if self.renamed else {}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        can_add = self.renamed is None and passkeys.can_use_passkeys(self.request)
        options = passkeys.make_creation_options(self.request, self.owner) if can_add else ""
        return super().get_context_data(**kwargs) | {"passkey_options": options, "renamed": self.renamed}

    def form_valid(self, form: PasskeyForm) -> HttpResponse:
        given = form.cleaned_data
        if self.renamed is not None:
            Passkey.objects.filter(pk=self.renamed.pk).update(name=given["name"])
            messages.success(self.request, _("Saved."))
            return redirect_to_view("accounts:factors")
        if not passkeys.add_passkey(self.request, self.owner.pk, given["name"], given["credential"]):
            # The form was sent twice, for example by a reload of the page with the recovery codes.
            if passkeys.has_passkey(self.owner.pk, given["credential"]):
                return redirect_to_view("accounts:factors")
            form.add_error("name", _("No passkey was created. Try again."))
            return self.form_invalid(form)
        return self.go_on(factors.PASSKEY_ADDED)


class RemoveFactor(FactorOwnerView):
    """POST ``app=1`` or ``passkey=ID``: remove that factor. Staff cannot remove their last one."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        number, what = request.POST.get("passkey", ""), factors.PASSKEY_REMOVED
        chosen: Any = _find_passkeys(self.owner, number)
        if "app" in request.POST:
            chosen, what = AuthenticatorApp.objects.filter(pk=self.owner.pk), factors.APP_REMOVED
        removed = self._remove(chosen, what)
        if removed is None:
            messages.error(
                request, _("Staff need two-step login: add another app or passkey before you remove this one.")
            )
        elif removed:
            messages.success(request, _("Removed."))
        return redirect_to_view("accounts:factors")

    @repeat_after_conflict
    def _remove(self, chosen: Any, what: Promise) -> bool | None:
        """Remove the chosen factor. Return whether it existed, or None if the user may not remove it."""
        with transaction.atomic():
            # The lock prevents two concurrent removals from removing the last factor.
            User.objects.select_for_update().get(pk=self.owner.pk)
            is_last = factors.read_overview(self.owner.pk).total == 1
            if is_last and factors.is_required(self.owner):
                return None
            if not chosen.delete()[0]:
                return False
            factors.report_change(self.owner, what, actor=self.owner)
            if is_last:
                self._end(self.request)
        return True

    def _end(self, request: HttpRequest) -> None:
        """Clean up after the last factor: delete recovery codes, clear the session's proof, end other sessions."""
        self.owner.recovery_codes.all().delete()
        request.session.pop(recent.FACTOR_KEY, None)
        end_other_sessions(self.owner, request.session.digest)  # type: ignore[attr-defined]


class RenewCodes(FactorOwnerView):
    """Make new recovery codes, which replace the old ones."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        if not factors.has_factor(self.owner.pk):
            return redirect_to_view("accounts:factors")
        return self.show_codes(self._renew_codes())

    @repeat_after_conflict
    def _renew_codes(self) -> list[str]:
        with transaction.atomic():
            codes = recovery.renew_codes(self.owner.pk)
            factors.report_change(self.owner, factors.CODES_RENEWED, actor=self.owner)
        return codes
