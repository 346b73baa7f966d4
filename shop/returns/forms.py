"""The form in which a buyer chooses books to return."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext_lazy as _

from shop.models import Return, ReturnReason
from shop.returns.rules import ReturnableLine
from shop.returns.services import WantedReturn


class LineFields(NamedTuple):
    """The bound fields of one line."""

    line: Any
    quantity: forms.BoundField
    reason: forms.BoundField


class ReturnForm(forms.Form):
    """Quantities and reasons by line, and a note. shown_left: the copies that are left when the form is shown."""

    shown_left = forms.IntegerField(required=False, widget=forms.HiddenInput)
    note = forms.CharField(
        label=_("Note"),
        max_length=Return._meta.get_field("note").max_length,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, lines: Sequence[ReturnableLine], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = lines
        self.fields["shown_left"].initial = sum(quantity for _line, quantity in lines)
        for line, quantity in lines:
            self.fields[f"quantity-{line.pk}"] = forms.TypedChoiceField(
                label=_("Copies"),
                choices=[(n, str(n)) for n in range(quantity + 1)],
                coerce=int,
                initial=quantity if len(lines) == 1 else 0,
            )
            self.fields[f"reason-{line.pk}"] = forms.ChoiceField(
                label=_("Reason"), choices=ReturnReason.choices, required=False
            )

    @property
    def line_fields(self) -> list[LineFields]:
        """The fields of each line."""
        return [
            LineFields(line, self[f"quantity-{line.pk}"], self[f"reason-{line.pk}"]) for line, _quantity in self.lines
        ]

    def get_wanted(self) -> dict[int, WantedReturn]:
        """Return the chosen copies by id of the order's line, of a valid form."""
        data = self.cleaned_data
        return {
            line.pk: WantedReturn(data[f"quantity-{line.pk}"], data[f"reason-{line.pk}"]) for line, _n in self.lines
        }
