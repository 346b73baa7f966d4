"""The old and new values of changed fields, in words, for the admin's log and the audit log."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from django import forms
from django.db.models import Model
from django.utils.formats import localize
from django.utils.text import Truncator
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from accounts.models import User

MAX_VALUE: Final = 80  # characters of a value
EMPTY: Final = "–"


def describe_changes(form: Any, personal: Collection[str] = ()) -> list[str]:
    """Return "label: old → new" for each changed field of a valid form of a model.

    personal: fields with data of readers, which are named without values, because the log outlives the account.
    """
    lines = []
    for name in form.changed_data:
        if name not in form.fields:  # a new password, which has two fields of other names
            lines.append(name)
            continue
        field = form.fields[name]
        label = str(form[name].label)
        if name in personal or getattr(getattr(field, "queryset", None), "model", None) is User:
            lines.append(label)
            continue
        old = format_value(field, form.initial.get(name))
        new = format_value(field, form.cleaned_data.get(name))
        lines.append(f"{label}: {old} → {new}")
    return lines


def find_changed_forms(form: Any, formsets: Iterable[Any] | None) -> Iterator[Any]:
    """Yield the changed forms of existing rows, in the order of Django's log messages."""
    if form.changed_data:
        yield form
    for formset in formsets or ():
        forms_by_pk = {each.instance.pk: each for each in formset.initial_forms}
        for row, _fields in formset.changed_objects:
            yield forms_by_pk[row.pk]


def format_value(field: forms.Field, value: Any) -> str:
    """Return the value of a field in words, cut to ``MAX_VALUE`` characters."""
    if value is None or value == "":
        return EMPTY
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, datetime):
        return str(localize(localtime(value) if is_aware(value) else value))
    if isinstance(field, forms.ModelMultipleChoiceField):
        return _shorten(", ".join(sorted(str(row) for row in value)) or EMPTY)
    if isinstance(field, forms.ModelChoiceField):
        rows: Any = field.queryset
        return _shorten(str(value if isinstance(value, Model) else rows.filter(pk=value).first()))
    choices = dict(getattr(field, "choices", ()))
    return _shorten(str(choices.get(value, field.prepare_value(value))))


def _shorten(text: str) -> str:
    return Truncator(text).chars(MAX_VALUE)
