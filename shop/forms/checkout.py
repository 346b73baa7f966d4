"""The form of the checkout."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from common.ids import MAX_ID, parse_id
from shop.forms.address import AddressForm
from shop.forms.card import CARD_FIELDS, PayForm
from shop.models import Order
from shop.selectors.checkout import Target


class CheckoutForm(AddressForm, PayForm):
    """The address of an order, and a card unless the order is free. version, total: of the cart that the page
    showed.
    """

    email = forms.EmailField(
        label=_("Email address"),
        max_length=Order._meta.get_field("email").max_length,
        help_text=_("We send the order confirmation to this address."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    save_address = forms.BooleanField(label=_("Save this address for my next order"), required=False)
    # The page offers the methods that deliver the cart; whether one does is known under the lock of the cart.
    delivery = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=0, max_value=MAX_ID)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=0, max_value=MAX_ID)
    total = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=0, max_value=MAX_ID)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.card_fields:
            field.field.required = self.data.get("total") != "0"
        method_id = parse_id(self._get_value("delivery"))
        self.target = Target(self._get_value("country"), method_id)
        self.order_fields(["name", "company", "email", "country", *self.format.fields, "phone", *CARD_FIELDS])
