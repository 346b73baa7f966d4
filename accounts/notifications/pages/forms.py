"""The form of a reader's preferences."""

from collections.abc import Mapping

from django import forms
from django.http import QueryDict

from accounts.notifications.kinds import list_kinds
from accounts.notifications.models import Way


class WaysForm(forms.Form):
    """One choice for each kind of notifications."""

    def __init__(self, data: QueryDict | None, ways: Mapping[str, Way]) -> None:
        super().__init__(data, initial=dict(ways))
        for kind in list_kinds():
            choices = [(way.value, way.label) for way in kind.ways]
            self.fields[kind.name] = forms.ChoiceField(label=str(kind.label), choices=choices)

    def get_ways(self) -> dict[str, Way]:
        """Return the chosen way of each kind."""
        return {kind: Way(way) for kind, way in self.cleaned_data.items()}
