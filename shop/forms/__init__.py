"""Forms of the shop: addresses, cards, the checkout, and lost links of guests."""

from shop.forms.address import AddressForm
from shop.forms.card import CARD_FIELDS, PayForm
from shop.forms.checkout import CheckoutForm
from shop.forms.guest import GuestLinkForm

__all__ = ["CARD_FIELDS", "AddressForm", "CheckoutForm", "GuestLinkForm", "PayForm"]
