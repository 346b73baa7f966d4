"""Forgotten passwords and new ones: Django's own views. What they do, ``accounts.passwords`` does."""

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth import views as auth_views
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from accounts import letters, passwords
from accounts.account_forms import ChangePasswordForm, NewPasswordForm, ResetForm
from accounts.lockout import known
from accounts.names import fold
from accounts.ratelimit import address
from accounts.views.limits import Limit, Limited

HOUR = 3600


def own_password(user_id: object) -> Limit:
    """How often somebody may be asked for their present password: a stolen session must not find it by trying."""
    return Limit("own-password", user_id, 10, HOUR // 4)


class Reset(Limited, auth_views.PasswordResetView):
    """Ask for a link. It does the same for every address, known or not: it sends a hint and says that it did."""

    template_name = "accounts/password_reset.html"
    form_class = ResetForm
    success_url = reverse_lazy("accounts:password_reset_done")
    kept = ("email",)

    def limits(self) -> Iterable[Limit]:
        typed = fold(self.request.POST.get("email", "").strip())
        return [
            Limit("password-reset-from", address(self.request), 20, HOUR, is_kept=True),
            Limit("password-reset-of", typed, 5, HOUR, is_kept=True),
        ]

    def form_valid(self, form: Any) -> HttpResponse:
        arguments = (form.cleaned_data["email"], get_language() or "")
        letters.post("accounts.tasks.send_reset_links", *arguments, expires=HOUR)
        return HttpResponseRedirect(self.get_success_url())


class ResetDone(auth_views.PasswordResetDoneView):
    """That a link is on its way, if there is somebody to have it."""

    template_name = "accounts/password_reset_done.html"


class ResetConfirm(auth_views.PasswordResetConfirmView):
    """A new password, by a link that is good once."""

    template_name = "accounts/password_reset_confirm.html"
    form_class = NewPasswordForm
    token_generator = passwords.reset_tokens
    success_url = reverse_lazy("accounts:password_reset_complete")

    def form_valid(self, form: Any) -> HttpResponse:
        assert self.user is not None  # or the link would be no good
        token = self.request.session.pop(auth_views.INTERNAL_RESET_SESSION_TOKEN)
        if self.request.user == self.user:
            logout(self.request)  # this session ends like all others
        if not passwords.reset(self.user, form.cleaned_data["new_password1"], token):
            self.validlink = False
            return self.render_to_response(self.get_context_data())
        return HttpResponseRedirect(self.get_success_url())


class ResetComplete(auth_views.PasswordResetCompleteView):
    """That the new password is good now."""

    template_name = "accounts/password_reset_complete.html"


@method_decorator(never_cache, name="dispatch")
class Change(Limited, auth_views.PasswordChangeView):
    """A new password for who knows the present one."""

    template_name = "accounts/password_change.html"
    form_class = ChangePasswordForm
    success_url = reverse_lazy("accounts:account")

    def limits(self) -> Iterable[Limit]:
        return [own_password(self.request.user.pk)]

    def form_valid(self, form: Any) -> HttpResponse:
        if not passwords.change(self.request, form.user, form.cleaned_data["new_password1"]):
            form.add_error("old_password", _("Your password was changed a moment ago, by another request."))
            return self.form_invalid(form)
        messages.success(
            self.request, _("Your password is changed. You stay logged in here; everywhere else you are logged out.")
        )
        response = HttpResponseRedirect(self.get_success_url())
        known.remember(response, form.user)  # the cookie that it had ended with the old password
        return response
