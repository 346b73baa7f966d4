"""The card of a payment."""

import re
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common import clock
from shop.payments import Expiry, TypedCard, get_provider

CARD_FIELDS: Final = ("card", "expiry", "code")
MAX_TYPED_LENGTH: Final = 40  # characters, with blanks
MAX_YEARS: Final = 20  # for which a card may still be valid; a later year is a mistake


class CardInput(forms.TextInput):
    """An input for a part of a card, which is never shown again."""

    def format_value(self, value: Any) -> str | None:
        return None


class CardPartField(forms.CharField):
    """A part of a card. The cleaned value is None if the field is empty and optional."""

    def __init__(self, *, label: Any, required_message: Any, help_text: Any = "", **attrs: str) -> None:
        widget = CardInput(attrs={"inputmode": "numeric", "spellcheck": "false", **attrs})
        super().__init__(label=label, help_text=help_text, widget=widget, max_length=MAX_TYPED_LENGTH)
        self.error_messages["required"] = required_message

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return self.parse(text) if text else None

    def parse(self, text: str) -> Any:
        """Return the value of a text. Raises ValidationError."""
        raise NotImplementedError


class NumberField(CardPartField):
    """The number of a card, without blanks and dashes."""

    def parse(self, text: str) -> str:
        typed = "".join(text.replace("-", " ").split())
        if not (typed.isascii() and typed.isdecimal() and 12 <= len(typed) <= 19 and passes_luhn_check(typed)):
            raise forms.ValidationError(_("Check the card number: a digit is missing or wrong."))
        return typed


class ExpiryField(CardPartField):
    """The month and the year in which a card expires, in any form: 08/28, 8 - 2028, 0828, 2028-08."""

    def parse(self, text: str) -> Expiry:
        expiry, today = read_expiry(text), timezone.localdate(clock.now())
        if expiry is None or expiry.year > today.year + MAX_YEARS:
            raise forms.ValidationError(_("Enter the month and the year as on the card, for example 08/28."))
        # A card is valid until the end of its month.
        if (expiry.year, expiry.month) < (today.year, today.month):
            raise forms.ValidationError(_("This card has expired. Use another one."))
        return expiry


class CodeField(CardPartField):
    """The security code of a card."""

    def parse(self, text: str) -> str:
        typed = "".join(text.split())
        if not re.fullmatch(r"[0-9]{3,4}", typed):
            raise forms.ValidationError(_("The security code has 3 digits, or 4 on American Express cards."))
        return typed


def passes_luhn_check(digits: str) -> bool:
    """Return whether the digits pass Luhn's check.

    Counted from the right, every second number is doubled; the sum of all digits must be a multiple of 10.
    """
    doubled = [int(d) if n % 2 == 0 else sum(divmod(2 * int(d), 10)) for n, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def read_expiry(text: str) -> Expiry | None:
    """Return the month and the year in a text, or None if it has none.

    >>> read_expiry("2028-08") == read_expiry("8/28") == read_expiry("0828")
    True
    """
    groups = re.findall(r"\d+", text)
    if len(groups) == 1 and len(groups[0]) in (4, 6):
        groups = [groups[0][:2], groups[0][2:]]
    if len(groups) != 2:
        return None
    # Browsers fill in "2028-08" where they take the field for a month.
    month, year = reversed(groups) if len(groups[0]) == 4 else groups
    if len(month) > 2 or len(year) not in (2, 4) or not 1 <= int(month) <= 12:
        return None
    return Expiry(int(month), int(year) if len(year) == 4 else 2000 + int(year))


class PayForm(forms.Form):
    """The card for an attempt to pay. ``cleaned_data`` has it as ``card``: None for an order that costs nothing.

    page: of the provider that takes the card itself; the form has no fields then.
    """

    card = NumberField(
        label=_("Card number"),
        required_message=_("Enter your card number."),
        autocomplete="cc-number",
        list="test-cards",
    )
    expiry = ExpiryField(
        label=_("Expires (MM/YY)"), required_message=_("Enter the expiry date."), autocomplete="cc-exp"
    )
    code = CodeField(
        label=_("Security code"),
        required_message=_("Enter the security code."),
        help_text=_("3 or 4 digits on the card."),
        autocomplete="cc-csc",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        provider = get_provider()
        self.test_cards, self.page = provider.test_cards, provider.page
        if self.page:
            for name in CARD_FIELDS:
                del self.fields[name]
        if self.test_cards and not self.is_bound:
            next_year = timezone.localdate(clock.now()).year + 1
            for name, text in zip(
                CARD_FIELDS, (self.test_cards[0].shown_number, f"12/{next_year % 100}", "123"), strict=True
            ):
                self.fields[name].widget.attrs["value"] = text

    @property
    def card_fields(self) -> list[forms.BoundField]:
        """The fields of the card, for the template."""
        return [self[name] for name in CARD_FIELDS if name in self.fields]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        # One object, whose repr hides the card from error reports.
        number, expiry, code = (cleaned.pop(name, None) for name in CARD_FIELDS)
        cleaned["card"] = TypedCard(number, expiry, code) if number and expiry and code else None
        return cleaned

    def full_clean(self) -> None:
        """Validate, and focus the first field with an error."""
        super().full_clean()
        for name in [name for name in self.fields if name in self.errors][:1]:
            self.fields[name].widget.attrs["autofocus"] = True
