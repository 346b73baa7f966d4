"""What the forms of accounts have in common."""

from typing import Any, Final

from django import forms
from django.contrib.auth.forms import UsernameField
from django.forms import BoundField
from django.utils.text import capfirst

from accounts.models import User

LONGEST_PASSWORD: Final = 1000  # nobody types more, and hashing megabytes is work for nothing


class NameField(UsernameField):
    """A name as it is typed. Whose it is, or whether it may be had, is not asked here."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"spellcheck": "false", "autocorrect": "off"}
        super().__init__(
            label=capfirst(User._meta.get_field("username").verbose_name),
            max_length=User._meta.get_field("username").max_length,
            widget=forms.TextInput(attrs=attrs),
            **kwargs,
        )


class PasswordField(forms.CharField):
    """A password, of at most a thousand characters. Never shown again."""

    def __init__(self, *, autocomplete: str, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
        super().__init__(strip=False, max_length=LONGEST_PASSWORD, widget=widget, **kwargs)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """No ``maxlength``: browsers cut off what is pasted without a word."""
        return {}


class FocusFirst(forms.BaseForm):
    """Mixin: the cursor is in the first field with a mistake, or in the first one. Works without JavaScript."""

    def visible_fields(self) -> list[BoundField]:
        fields = super().visible_fields()
        first = next((field for field in fields if field.errors), fields[0])
        for field in fields:
            field.field.widget.attrs.pop("autofocus", None)
        first.field.widget.attrs["autofocus"] = True
        return fields
