"""The card of a payment."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from shop.payments import TypedCard, get_provider

MAX_CARD_LENGTH: Final = 30  # characters, with spaces


class CardInput(forms.TextInput):
    """An input for a card number, which is never shown again."""

    def format_value(self, value: Any) -> str | None:
        return None


class CardField(forms.CharField):
    """A card number. The cleaned value is a ``Card``, or None if the optional field is empty."""

    def __init__(self) -> None:
        attrs = {"autocomplete": "cc-number", "inputmode": "numeric", "list": "test-cards", "spellcheck": "false"}
        super().__init__(label=_("Card number"), widget=CardInput(attrs=attrs), max_length=MAX_CARD_LENGTH)
        self.error_messages["required"] = _("Enter your card number.")

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        typed = "".join(text.replace("-", " ").split())
        if not (typed.isascii() and typed.isdecimal() and 12 <= len(typed) <= 19 and passes_luhn_check(typed)):
            raise forms.ValidationError(_("This card number is not valid: a digit is missing or wrong."))
        return TypedCard(typed)


def passes_luhn_check(digits: str) -> bool:
    """Return whether the digits pass Luhn's check.

    Counted from the right, every second number is doubled; the sum of all digits must be a multiple of 10.
    """
    doubled = [int(d) if n % 2 == 0 else sum(divmod(2 * int(d), 10)) for n, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


class PayForm(forms.Form):
    """The card for an attempt to pay."""

    card = CardField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.test_cards = get_provider().test_cards
        if self.test_cards and not self.is_bound:
            self.fields["card"].widget.attrs["value"] = self.test_cards[0].number

    def full_clean(self) -> None:
        """Validate, and focus the first field with an error."""
        super().full_clean()
        for name in [name for name in self.fields if name in self.errors][:1]:
            self.fields[name].widget.attrs["autofocus"] = True
