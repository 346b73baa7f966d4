"""Fields and mixins shared by the forms of this application."""

from typing import Any, Final

from django import forms
from django.contrib.auth.forms import UsernameField
from django.core.validators import MaxLengthValidator
from django.forms import BoundField
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from accounts.models import User

MAX_LOGIN: Final = 254  # characters of a name or an email address
MAX_PASSWORD_LENGTH: Final = 1000  # characters, because hashing a password of megabytes wastes time


class NameField(UsernameField):
    """A name as typed. The field does not look for its owner, or check whether it is available."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"spellcheck": "false", "autocorrect": "off"}
        super().__init__(
            label=capfirst(User._meta.get_field("username").verbose_name),
            max_length=User._meta.get_field("username").max_length,
            widget=forms.TextInput(attrs=attrs),
            **kwargs,
        )


class LoginField(UsernameField):
    """A name or an email address as typed."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"spellcheck": "false", "autocorrect": "off"}
        label = _("Name or email address")
        super().__init__(label=label, max_length=MAX_LOGIN, widget=forms.TextInput(attrs=attrs), **kwargs)

    def validate(self, value: str) -> None:
        """Refuse a name that is longer than any name, before a query or a hash."""
        super().validate(value)
        if "@" not in value:
            MaxLengthValidator(User._meta.get_field("username").max_length)(value)


class PasswordField(forms.CharField):
    """A password of at most 1,000 characters, which is never rendered again."""

    def __init__(self, *, autocomplete: str, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
        super().__init__(strip=False, max_length=MAX_PASSWORD_LENGTH, widget=widget, **kwargs)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """Return no ``maxlength``: browsers silently truncate a pasted password."""
        return {}


class FocusFirstMixin(forms.BaseForm):
    """Mixin that sets ``autofocus`` on the first field with an error, or on the first field. It needs no JavaScript."""

    def visible_fields(self) -> list[BoundField]:
        fields = super().visible_fields()
        first = next((field for field in fields if field.errors), fields[0])
        for field in fields:
            field.field.widget.attrs.pop("autofocus", None)
        first.field.widget.attrs["autofocus"] = True
        return fields
