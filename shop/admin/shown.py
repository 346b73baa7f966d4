"""Two of the staff at one row: nobody puts back what another has changed since the page was opened."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from unfold.admin import ModelAdmin


class ShownForm(forms.ModelForm):
    """A form that knows what its page showed, by hidden fields.

    What was not touched is left as it is now. What was touched, and somebody else has changed too, is refused once, and
    said how it is now; who saves again means it.
    """

    counted: ClassVar[Sequence[str]] = ()  # fields in which both changes count

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk is not None:
            for field in self.fields.values():
                field.show_hidden_initial = True

    def clean(self) -> dict[str, Any]:
        super().clean()
        for name in [name for name, field in self.fields.items() if field.show_hidden_initial]:
            if name not in self.changed_data:
                self.cleaned_data[name] = self.initial[name]
                self.errors.pop(name, None)
            elif name not in self.counted and self._was_changed(name):
                self._refuse(name)
        return self.cleaned_data

    def _was_changed(self, name: str) -> bool:
        """Whether somebody else has made something else of it than what was shown, and than what was typed."""
        bound, now = self[name], self._as_shown(name)
        is_same = all(_lines(self.data.get(key, value)) == _lines(value) for key, value in now.items())
        return not is_same and self.fields[name].has_changed(bound.initial, bound.data)

    def _as_shown(self, name: str) -> dict[str, str]:
        """The hidden fields of a page that shows it as it is now: names and values."""
        bound, field = self[name], self.fields[name]
        value = field.prepare_value(bound.initial)
        widget = field.hidden_widget().get_context(bound.html_initial_name, value, {})["widget"]
        return {part["name"]: part["value"] or "" for part in widget.get("subwidgets", [widget])}

    def _refuse(self, name: str) -> None:
        now, data = self._as_shown(name), QueryDict(mutable=True)
        data.update(self.data)
        for key, value in now.items():
            data[key] = value
        self.data = data
        text = gettext("Somebody else has changed this meanwhile, to: %(now)s. If yours is right, save again.")
        self.add_error(name, text % {"now": " ".join(now.values())})


def _lines(text: str) -> str:
    """With the ends of lines as everywhere but in what browsers send."""
    return text.replace("\r\n", "\n")


class OneAtATime(ModelAdmin):
    """Whoever saves a row while another saves it waits for that, and finds what it has become."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = super().get_object(request, object_id, from_field)
        if found is None or request.method != "POST":
            return found
        same = self.model._default_manager.filter(pk=found.pk)
        list(same.select_for_update(no_key=True).values_list("pk"))
        return super().get_object(request, object_id, from_field)
