"""Forms of the shop: addresses, cards and the checkout."""

from shop.forms.address import AddressForm
from shop.forms.card import CardField, PayForm
from shop.forms.checkout import CheckoutForm

__all__ = ["AddressForm", "CardField", "CheckoutForm", "PayForm"]
