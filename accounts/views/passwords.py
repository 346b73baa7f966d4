"""Views that reset and change passwords: Django's own, on top of ``accounts.passwords.services``."""

from collections.abc import Iterable

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import PasswordChangeForm, PasswordResetForm, SetPasswordForm
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from accounts.forms.account import ChangePasswordForm, NewPasswordForm, ResetForm
from accounts.lockout import known
from accounts.passwords import services as passwords
from accounts.ratelimit import get_client_address
from accounts.views.limits import FormLimit, LimitedFormMixin
from common.text import fold_address

HOUR_SECONDS = 3600


def make_password_limit(user_id: object) -> FormLimit:
    """Return the limit on submissions of the current password, so that the thief of a session cannot guess it."""
    return FormLimit("own-password", user_id, 10, HOUR_SECONDS // 4)


class Reset(LimitedFormMixin, auth_views.PasswordResetView):
    """Request a reset link. The response is the same for known and unknown addresses: a worker looks for accounts."""

    template_name = "accounts/password_reset.html"
    form_class = ResetForm
    success_url = reverse_lazy("accounts:password_reset_done")
    kept = ("email",)

    def limits(self) -> Iterable[FormLimit]:
        typed = fold_address(self.request.POST.get("email", "").strip())
        return [
            FormLimit("password-reset-from", get_client_address(self.request), 20, HOUR_SECONDS, is_kept=True),
            FormLimit("password-reset-of", typed, 5, HOUR_SECONDS, is_kept=True),
        ]

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        passwords.queue_reset_links(form.cleaned_data["email"], get_language() or "")
        return HttpResponseRedirect(self.get_success_url())


class ResetDone(auth_views.PasswordResetDoneView):
    """The page that announces a reset link, if the address has an account."""

    template_name = "accounts/password_reset_done.html"


class ResetConfirm(auth_views.PasswordResetConfirmView):
    """Set a new password with a link that is valid once."""

    template_name = "accounts/password_reset_confirm.html"
    form_class = NewPasswordForm
    token_generator = passwords.reset_token_generator
    success_url = reverse_lazy("accounts:password_reset_complete")

    def form_valid(self, form: SetPasswordForm) -> HttpResponse:
        assert self.user is not None  # guaranteed by the valid link
        token = self.request.session.pop(auth_views.INTERNAL_RESET_SESSION_TOKEN)
        if self.request.user == self.user:
            # The reset ends all sessions of the user, also this one.
            logout(self.request)
        if not passwords.reset_password(self.user, form.cleaned_data["new_password1"], token):
            self.validlink = False
            return self.render_to_response(self.get_context_data())
        return HttpResponseRedirect(self.get_success_url())


class ResetComplete(auth_views.PasswordResetCompleteView):
    """The page after a reset."""

    template_name = "accounts/password_reset_complete.html"


@method_decorator(never_cache, name="dispatch")
class Change(LimitedFormMixin, auth_views.PasswordChangeView):
    """Set a new password with the current one."""

    template_name = "accounts/password_change.html"
    form_class = ChangePasswordForm
    success_url = reverse_lazy("accounts:account")

    def limits(self) -> Iterable[FormLimit]:
        return [make_password_limit(self.request.user.pk)]

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        if not passwords.change_password(self.request, form.user, form.cleaned_data["new_password1"]):
            form.add_error("old_password", _("Your password was just changed in another window."))
            return self.form_invalid(form)
        messages.success(
            self.request, _("Your password was changed. You stay logged in here, and are logged out everywhere else.")
        )
        response = HttpResponseRedirect(self.get_success_url())
        # The new password invalidated the old cookie.
        known.remember_device(response, form.user)
        return response
