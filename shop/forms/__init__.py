"""Forms of the shop: addresses, cards and the checkout."""

from shop.forms.address import AddressForm
from shop.forms.card import CARD_FIELDS, PayForm
from shop.forms.checkout import CheckoutForm

__all__ = ["CARD_FIELDS", "AddressForm", "CheckoutForm", "PayForm"]
