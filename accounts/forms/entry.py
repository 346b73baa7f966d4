"""The forms of login and registration."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, SetPasswordMixin
from django.utils.translation import gettext_lazy as _

from accounts.deletion import services as deletion
from accounts.forms.account import AddressField
from accounts.forms.fields import MAX_LOGIN, FocusFirstMixin, LoginField, NameField, PasswordField
from accounts.models import User
from accounts.names import valid_new_name
from accounts.passwords.advice import ADVICE
from accounts.suspension import find_suspension


class LoginForm(FocusFirstMixin, AuthenticationForm):
    """A name or address in any case, and the password. The error message does not say which of them is wrong."""

    username = LoginField()
    password = PasswordField(label=_("Password"), autocomplete="current-password")
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("The name or the password is wrong. Check both and try again."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django's form limits the field to the length of names.
        self.fields["username"].widget.attrs["maxlength"] = MAX_LOGIN

    def confirm_login_allowed(self, user: Any) -> None:
        """Accept users whose account waits for deletion or is suspended: the login page answers them."""
        if deletion.get_due_time(user) is None and find_suspension(user) is None:
            super().confirm_login_allowed(user)


class RegisterForm(FocusFirstMixin, SetPasswordMixin, forms.Form):
    """A name, a strong password typed twice, and an optional e-mail address."""

    username = NameField(
        validators=[valid_new_name],
        help_text=_("Letters, numbers, spaces, dots, underscores, hyphens and apostrophes."),
    )
    email = AddressField(
        label=_("Email address (optional)"),
        required=False,
        help_text=_(
            "Used to reset your password and for your orders. We send a link to confirm it. "
            "Never shown to other readers."
        ),
    )
    password1 = PasswordField(label=_("Password"), autocomplete="new-password", help_text=ADVICE)
    password2 = PasswordField(label=_("Confirm password"), autocomplete="new-password")

    def clean(self) -> dict[str, Any]:
        """Check that the passwords agree and are strong. This form does not look for existing users."""
        given = super().clean() or {}
        self.validate_passwords()
        self.validate_password_for_user(User(username=given.get("username", ""), email=given.get("email", "")))
        return given
