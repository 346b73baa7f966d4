"""Two of the staff at one row: nobody puts back what another has changed since the page was opened."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest
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
        bound, field = self[name], self.fields[name]
        hidden = field.hidden_widget()
        if hidden.value_omitted_from_data(self.data, self.files, bound.html_initial_name):
            return False
        shown = hidden.value_from_datadict(self.data, self.files, bound.html_initial_name)
        return field.has_changed(bound.initial, shown) and field.has_changed(bound.initial, bound.data)

    def _refuse(self, name: str) -> None:
        bound, field = self[name], self.fields[name]
        value = field.prepare_value(bound.initial)
        widget = field.hidden_widget().get_context(bound.html_initial_name, value, {})["widget"]
        now = {part["name"]: part["value"] or "" for part in widget.get("subwidgets", [widget])}
        data: Any = self.data
        self.data = data = data.copy()
        data.update(now)
        text = gettext("Somebody else has changed this meanwhile, to: %(now)s. If yours is right, save again.")
        self.add_error(name, text % {"now": " ".join(now.values())})


class OneAtATime(ModelAdmin):
    """Whoever saves a row while another saves it waits for that, and finds what it has become."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = super().get_object(request, object_id, from_field)
        if found is None or request.method != "POST":
            return found
        same = self.model._default_manager.filter(pk=found.pk)
        list(same.select_for_update(no_key=True).values_list("pk"))
        return super().get_object(request, object_id, from_field)
