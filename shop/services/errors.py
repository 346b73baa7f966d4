"""Why something of the shop was not done: told to who asked for it, in their language."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Refused(Exception):
    """It was not done. As text: why."""

    message: ClassVar[str | Promise] = _("That cannot be done.")

    def __str__(self) -> str:
        return str(self.message)


class CartChanged(Refused):
    """The cart is not the one that was shown."""

    message = _("Your cart has changed since this page was shown. This is how it is now: please look at it again.")


class CartEmpty(CartChanged):
    """There is nothing in it."""

    message = _("Your cart is empty.")


class PriceRose(Refused):
    """It costs more than was shown. shown, now: in cents."""

    message = _("A price has risen since this page was shown. This is what it costs now: please look at it again.")

    def __init__(self, shown: int, now: int) -> None:
        super().__init__(shown, now)
        self.shown, self.now = shown, now


class Shortage(NamedTuple):
    """More copies of a product were wanted than are left (0: sold out, or not for sale any more)."""

    product_id: int
    wanted: int
    left: int


class SoldOut(Refused):
    """Somebody else was faster; nothing was set aside."""

    message = _("Somebody else was faster.")

    def __init__(self, shortages: Sequence[Shortage]) -> None:
        super().__init__(shortages)
        self.shortages = tuple(shortages)


class NotPayable(Refused):
    """The order waits for no money: it is paid, or over."""

    message = _("This order is not waiting for a payment any more.")


class TooManyTries(Refused):
    """Payments were tried again and again."""

    message = _("That was tried too often. Try again in a few minutes.")


class NotYours(Refused):
    """The order is somebody else's."""

    message = _("There is no such order.")


class TooLate(Refused):
    """The order is too far for that."""

    message = _("That is too late for this order.")
