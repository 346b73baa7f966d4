"""Forms for changing a user's password and e-mail address."""

from typing import Any

from django import forms
from django.contrib.auth import forms as auth_forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.forms.fields import NameField
from accounts.models import User
from accounts.names import valid_new_name
from accounts.passwords.advice import ADVICE
from common.text import fold_address


class AddressField(forms.EmailField):
    """An e-mail address. It has no line break, which could start another header of an email."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.EmailInput(attrs={"autocomplete": "email", "inputmode": "email", "spellcheck": "false"})
        super().__init__(max_length=254, widget=widget, **kwargs)

    def clean(self, value: Any) -> str:
        return User.objects.normalize_email(super().clean(value))


class ResetForm(auth_forms.PasswordResetForm):
    """The address of the accounts for which a reset link is requested."""

    email = AddressField(label=_("Email address"))


class NewPasswordForm(auth_forms.SetPasswordForm):
    """A new password, typed twice. ``accounts.passwords.services`` stores it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].help_text = ADVICE
        self.fields["new_password2"].help_text = ""


class ChangePasswordForm(NewPasswordForm, auth_forms.PasswordChangeForm):
    """The current password, and a new one typed twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].label = _("Current password")
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


class OwnPasswordForm(forms.Form):
    """The current password, as proof that the owner of the account is using the open session."""

    password = forms.CharField(
        label=_("Current password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        self.user = user
        super().__init__(*args, **kwargs)

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise ValidationError(_("This password is wrong. Try again."), code="password_incorrect")
        return password


class NameForm(OwnPasswordForm):
    """The current password and the new name. This form does not look for other users."""

    username = NameField(validators=[valid_new_name])
    field_order = ("username", "password")


class EmailForm(OwnPasswordForm):
    """The current password and the new address."""

    email = AddressField(label=_("New email address"))
    field_order = ("email", "password")

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if fold_address(email) == fold_address(self.user.email):
            raise ValidationError(_("This is already your email address."))
        return email
