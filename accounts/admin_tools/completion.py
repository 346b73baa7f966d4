"""Text fields of the admin that complete names from a list in the page. They need no script."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


class CompletedInput(forms.TextInput):
    """A text field with names to choose from. Any other text can be typed as well."""

    names: Sequence[str] = ()

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        if not self.names:
            return super().render(name, value, attrs, renderer)
        list_id = f"names-for-{name}"
        field = super().render(name, value, {**(attrs or {}), "list": list_id}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((each,) for each in self.names))
        return format_html('{}<datalist id="{}">{}</datalist>', field, list_id, options)
