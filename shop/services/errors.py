"""Refusals of the shop, with reasons in the visitor's language."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.refusals import Refused
from shop.money import format_money

RETURN_STATE_REASONS: Final = {  # why a step of a return is refused, by its state
    "asked": _("it is not accepted yet"),
    "accepted": _("it is accepted already"),
    "received": _("its books were received already"),
    "refused": _("it was refused"),
}


class CartChanged(Refused):
    """The cart differs from the one that was shown."""

    message = _("Your cart has changed. Check it before you order.")


class CartEmpty(CartChanged):
    """The cart is empty."""

    message = _("Add books to your cart before you check out.")


class PriceRose(Refused):
    """The cart costs more than was shown. shown, now: totals in cents."""

    message = _("A price has gone up. Check your order before you pay.")

    def __init__(self, shown: int, now: int) -> None:
        super().__init__(shown, now)
        self.shown, self.now = shown, now


class DeliveryRose(PriceRose):
    """The order costs more than was shown, with a price of delivery in it."""

    message = _("The total has gone up, because delivery or a book costs more now. Check your order before you pay.")


class NoDelivery(Refused):
    """No method delivers the order to its country, because of the country or of the weight."""

    message = _("We cannot deliver this order to this country. Choose another address, or order fewer books.")


class DeliveryGone(Refused):
    """The chosen method does not deliver the order to its country, or is not offered any more."""

    message = _("This delivery is not available for the address. Choose another one.")


class Shortage(NamedTuple):
    """Too few copies of a product are left. left: 0 if it is sold out, or withdrawn from sale."""

    product_id: int
    wanted: int
    left: int
    is_withdrawn: bool = False


class SoldOut(Refused):
    """Some products have too few copies left. Nothing was reserved."""

    message = _("Sorry, there are not enough copies left.")

    def __init__(self, shortages: Sequence[Shortage]) -> None:
        super().__init__(shortages)
        self.shortages = tuple(shortages)

    def __str__(self) -> str:
        withdrawn = [shortage.is_withdrawn for shortage in self.shortages]
        if all(withdrawn):
            return gettext("A book in your cart is no longer sold. Remove it to order the others.")
        if any(withdrawn):
            return gettext(
                "A book in your cart is no longer sold, and another one is short in stock. Change your cart."
            )
        return super().__str__()


class NotPayable(Refused):
    """The order does not wait for a payment, because it is paid or closed."""

    message = _("This order cannot be paid any more.")


class TooManyPayments(Refused):
    """The user has tried too many payments."""

    message = _("Too many attempts. Try again in a few minutes.")


class OrderNotFound(Refused):
    """The order belongs to another user or does not exist."""

    message = _("Order not found.")


class OrderStateRefused(Refused):
    """The state of the order does not allow this any more. reason: why, in words for staff."""

    message = _("It is too late to change this order.")

    def __init__(self, reason: str | Promise = "") -> None:
        super().__init__(reason)
        self.reason = reason or self.message


class NotRefundable(OrderStateRefused):
    """The order has no payment to refund: it was free, cancelled or is refunded already."""

    message = _("there is no payment to refund")


class NotSent(OrderStateRefused):
    """The order was not sent, so it is cancelled instead of refunded."""

    message = _("it was not sent: cancel it instead")


class RefundedMeanwhile(Refused):
    """The form was sent twice, or another member of staff has refunded or sent the order since it was shown."""

    message = _("it was refunded or sent since this page was shown: check what is left")


class NothingToRefund(Refused):
    """The refund has no amount and no copies."""

    message = _("Choose an amount or some books to refund.")


class RefundTooLarge(Refused):
    """More would be refunded than is left. left: in cents."""

    def __init__(self, left: int) -> None:
        super().__init__(left)
        self.left = left

    def __str__(self) -> str:
        return gettext("That is more than is left to refund: %(amount)s.") % {"amount": format_money(self.left)}


class NotReturnable(Refused):
    """The order was not sent, the time for returns is over, or fewer copies are left than were chosen."""

    message = _("These books cannot be returned any more.")


class ReturnedMeanwhile(Refused):
    """Another return or a refund took copies since the form was shown, or the form was sent twice."""

    message = _("Another return or a refund has come since you opened the form. No return was added.")


class NoBooksChosen(Refused):
    """The return has no copies."""

    message = _("Choose at least one book to return.")


class ReturnStateRefused(Refused):
    """The state of the return does not allow this. state: the value of a ``ReturnState``."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state

    def __str__(self) -> str:
        return str(RETURN_STATE_REASONS[self.state])


class RefusalNeedsAnswer(Refused):
    """A return is refused with a reason only."""

    message = _("write the answer to the buyer first")
