"""Forms of the actions on the page of an order."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from shop.admin.forms import MoneyField
from shop.delivery.tracking import Tracking
from shop.models import Order
from shop.models.event import MAX_NOTE
from shop.money import format_money
from shop.services.refunds import RefundablePart
from shop.services.stock import count_copies_to_send

DELIVERY: Final = "with_delivery"
NUMBER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./-]{0,39}")


class TrackingForm(forms.Form):
    """The carrier and the number of a parcel. shown_copies: those to be sent when the form is shown."""

    shown_copies = forms.IntegerField(required=False, widget=forms.HiddenInput)
    carrier = forms.ChoiceField(label=_("carrier"), required=False)
    number = forms.CharField(label=_("tracking number"), required=False, max_length=40)

    def __init__(self, data: QueryDict | None = None, *, order: Order) -> None:
        now = Tracking(order.carrier, order.tracking_number)
        super().__init__(data, initial={**now._asdict(), "shown_copies": count_copies_to_send(order)})
        names = list(settings.SHOP_CARRIERS)
        # The carrier of this order may have left the settings.
        if now.carrier and now.carrier not in names:
            names.append(now.carrier)
        self.fields["carrier"].choices = [("", _("none")), *((name, name) for name in names)]  # type: ignore[attr-defined]

    def clean_number(self) -> str:
        # Copied numbers have several blanks, or blanks of other kinds.
        number = " ".join(self.cleaned_data["number"].split())
        if number and not NUMBER.fullmatch(number):
            raise ValidationError(_("A tracking number has letters, digits, blanks and - . / only."))
        return number

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("number") and not given.get("carrier"):
            self.add_error("carrier", _("Choose the carrier of this number."))
        return given

    def make_tracking(self) -> Tracking:
        """Return the parcel of a valid form."""
        return Tracking(self.cleaned_data["carrier"], self.cleaned_data["number"])


class NoteForm(forms.Form):
    """A note for staff."""

    text = forms.CharField(label=_("note"), max_length=MAX_NOTE, widget=forms.Textarea(attrs={"rows": 3}))


class RefundForm(forms.Form):
    """A refund of everything that is left, of an amount, or of copies and delivery. The staff member chooses one.

    parts: what is left of each line. left: what is left of the payment, in cents. copies: those to be sent.
    """

    shown_left = forms.IntegerField(widget=forms.HiddenInput)
    # Its name is also that of a field of the form beside it.
    shown_copies = forms.IntegerField(required=False, widget=forms.HiddenInput({"id": "id_refund_shown_copies"}))
    everything = forms.BooleanField(required=False)
    amount = MoneyField(label=_("amount"), required=False)
    reason = forms.CharField(label=_("reason for the buyer"), required=False, max_length=200)

    def __init__(
        self, data: QueryDict | None = None, *, parts: Iterable[RefundablePart], left: int, copies: int
    ) -> None:
        super().__init__(data, initial={"shown_left": left, "shown_copies": copies})
        self.left = left
        words = _("everything that is left: %(amount)s")
        self.fields["everything"].label = words % {"amount": format_money(left)}
        self.lines: dict[str, int] = {}
        for part in parts:
            if part.line is not None and part.quantity:
                name = f"copies_{part.line.pk}"
                self.lines[name] = part.line.pk
                words = _("copies of “%(title)s” (%(n)d left)")
                label = words % {"title": part.line.title, "n": part.quantity}
                self.fields[name] = forms.IntegerField(
                    label=label, required=False, min_value=0, max_value=part.quantity
                )
            elif part.line is None and part.amount:
                words = _("delivery (%(amount)s left)")
                label = words % {"amount": format_money(part.amount)}
                self.fields[DELIVERY] = forms.BooleanField(label=label, required=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if self.errors:
            return given
        # Money goes back for good: no choice is guessed from an empty form, or from two choices.
        choices = (given["everything"], given["amount"] is not None, self._has_parts(given))
        if choices.count(True) > 1:
            self.add_error("amount", _("Choose one only: everything, an amount, or copies and delivery."))
        elif True not in choices:
            self.add_error("amount", _("Type an amount, or choose copies, delivery or everything that is left."))
        return given

    def _has_parts(self, given: Mapping[str, Any]) -> bool:
        return any(given.get(name) for name in (*self.lines, DELIVERY))

    def get_choice(self) -> dict[str, Any]:
        """Return what to refund, as the arguments of ``refund_order``."""
        given = self.cleaned_data
        choice: dict[str, Any] = {name: given[name] for name in ("shown_left", "shown_copies")}
        if given["everything"]:
            return choice
        if not self._has_parts(given):
            return choice | {"amount": given["amount"]}
        quantities = {pk: given[name] or 0 for name, pk in self.lines.items()}
        return choice | {"quantities": quantities, "with_delivery": given.get(DELIVERY, False)}

    @property
    def part_fields(self) -> list[forms.BoundField]:
        """The fields of copies and delivery."""
        return [field for field in self if field.name in self.lines or field.name == DELIVERY]
