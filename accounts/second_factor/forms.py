"""Forms that ask for second factors."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.forms.fields import PasswordField
from accounts.words import check_line

MAX_CREDENTIAL_JSON = 20_000  # characters


class CodeField(forms.CharField):
    """A code of an authenticator app, or a recovery code."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "none"}
        super().__init__(label=_("Code"), max_length=40, widget=forms.TextInput(attrs=attrs), **kwargs)


class CredentialField(forms.CharField):
    """A browser's response about a passkey, in JSON. ``passkeys.js`` fills it in."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_CREDENTIAL_JSON, widget=forms.HiddenInput, **kwargs)


class FactorForm(forms.Form):
    """One second factor: a code, or a passkey."""

    code = CodeField(required=False, help_text=_("Six digits from your app, or a recovery code."))
    credential = CredentialField(required=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not any(given.get(name) for name in self.fields):
            raise ValidationError({"code": _("Enter a code.")})
        return given


class ProofForm(FactorForm):
    """The password, or a second factor."""

    password = PasswordField(required=False, label=_("Password"), autocomplete="current-password")

    def clean(self) -> dict[str, Any]:
        given = super(FactorForm, self).clean() or {}
        if not any(given.get(name) for name in self.fields):
            raise ValidationError({"password": _("Enter your password.")})
        return given


class AppForm(forms.Form):
    """The first code of a new app."""

    code = CodeField(help_text=_("The six digits that the app shows."))


class PasskeyForm(forms.Form):
    """A new passkey and its name."""

    name = forms.CharField(
        label=_("Name of the passkey"),
        max_length=60,
        validators=[check_line],
        help_text=_("For example, the name of the device."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    credential = CredentialField(required=False)
