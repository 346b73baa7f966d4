"""What templates and services are given: a product as its record says it."""

from config import clock
from mirror.raw import RawRecord
from shop.prices import Price, price_at


class ProductRecord(RawRecord):
    """A product: id, price, available, is_active, sales."""

    __slots__ = ()

    @property
    def now(self) -> Price:
        """What it costs at this moment."""
        return price_at(self, clock.now().timestamp())

    @property
    def can_be_bought(self) -> bool:
        """Whether it is for sale and there is one left."""
        return bool(self["is_active"]) and self["available"] > 0
