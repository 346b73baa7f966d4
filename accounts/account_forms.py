"""Forms for what a person's account says: password and e-mail address."""

from typing import Any

from django import forms
from django.contrib.auth import forms as auth_forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.names import fold


class AddressField(forms.EmailField):
    """An e-mail address. Never with a line break, which would begin another header of the letter."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.EmailInput(attrs={"autocomplete": "email", "inputmode": "email", "spellcheck": "false"})
        super().__init__(max_length=254, widget=widget, **kwargs)

    def clean(self, value: Any) -> str:
        return User.objects.normalize_email(super().clean(value))


class ResetForm(auth_forms.PasswordResetForm):
    """Which address a link goes to, if anybody has it."""

    email = AddressField(label=_("E-mail address"))


class NewPasswordForm(auth_forms.SetPasswordForm):
    """A new password, twice. What is done with it, ``accounts.passwords`` does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password2"].help_text = ""


class ChangePasswordForm(NewPasswordForm, auth_forms.PasswordChangeForm):
    """The present password, and a new one twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].label = _("Present password")
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


class OwnPasswordForm(forms.Form):
    """The present password: proof that nobody else uses an open session."""

    password = forms.CharField(
        label=_("Present password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        self.user = user
        super().__init__(*args, **kwargs)

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise ValidationError(_("This is not your password."), code="password_incorrect")
        return password


class EmailForm(OwnPasswordForm):
    """The present password, and the address that is wanted."""

    email = AddressField(label=_("New e-mail address"))
    field_order = ("email", "password")

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if fold(email) == fold(self.user.email):
            raise ValidationError(_("This is your address already."))
        return email
