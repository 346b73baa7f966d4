"""Concurrent edits of one row in the admin: no save silently reverts another."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.db import connection
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from accounts.admin_tools.changes import format_value


class ConcurrentEditForm(forms.ModelForm):
    """A form with hidden fields that hold the values which its page showed.

    Untouched fields keep their present value. An edited field that was also changed elsewhere is refused once, with its
    present value; saving again overwrites it. A save of all fields would undo sales that happened while it was open.
    """

    counted: ClassVar[Sequence[str]] = ()  # fields to which both changes are applied

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk is not None:
            for name, field in self.fields.items():
                # Fields that are not the row's own have no value that another editor could change.
                field.show_hidden_initial = name in self.initial and not field.disabled

    def clean(self) -> dict[str, Any]:
        super().clean()
        compared = [name for name, field in self.fields.items() if field.show_hidden_initial]
        for name in compared:
            if name not in self.changed_data:
                # The value of the row, which another editor may have changed since the page was shown.
                self.cleaned_data[name] = self.initial[name]
                self.errors.pop(name, None)
            elif name not in self.counted and self._was_changed_elsewhere(name):
                self._refuse(name)
        return self.cleaned_data

    def _was_changed_elsewhere(self, name: str) -> bool:
        """Return whether the stored value differs from both the shown and the typed value."""
        bound, now, sent = self[name], self._make_hidden_values(name), QueryDict(mutable=True)
        sent.update(self.data)
        is_same = all(
            _normalise_newlines(sent.getlist(key, values)) == _normalise_newlines(values) for key, values in now.items()
        )
        return not is_same and self.fields[name].has_changed(bound.initial, bound.data)

    def _make_hidden_values(self, name: str) -> dict[str, list[str]]:
        """Return the names and values of the hidden fields that a page with the present value would have."""
        bound, field = self[name], self.fields[name]
        value = field.prepare_value(bound.initial)
        if isinstance(field, forms.ModelMultipleChoiceField):  # one hidden field for each row, with the same name
            return {bound.html_initial_name: [str(pk) for pk in value]}
        widget = field.hidden_widget().get_context(bound.html_initial_name, value, {})["widget"]
        return {part["name"]: [part["value"] or ""] for part in widget.get("subwidgets", [widget])}

    def _refuse(self, name: str) -> None:
        now, data = self._make_hidden_values(name), QueryDict(mutable=True)
        data.update(self.data)
        for key, values in now.items():
            data.setlist(key, values)
        self.data = data
        if isinstance(self.fields[name], forms.ModelChoiceField):
            shown = format_value(self.fields[name], self[name].initial)
        else:
            shown = " ".join(value for values in now.values() for value in values)
        text = gettext("Someone else changed this to: %(now)s. To replace it with your value, save again.")
        self.add_error(name, text % {"now": shown})


def _normalise_newlines(texts: Sequence[str]) -> list[str]:
    """Replace the line endings that browsers send (CR LF) with those of stored text (LF)."""
    return [text.replace("\r\n", "\n") for text in texts]


class SerialisedEdits(ModelAdmin):
    """Serialise saves of one row. The second save waits for the first and starts from its result."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = super().get_object(request, object_id, from_field)
        # Some pages only read the row, outside of a transaction.
        if found is None or request.method != "POST" or not connection.in_atomic_block:
            return found
        # The lock, then the row again: the row read before the lock may be older than the save of another editor.
        same = self.model._default_manager.filter(pk=found.pk)
        list(same.select_for_update(no_key=True).values_list("pk"))
        return super().get_object(request, object_id, from_field)
