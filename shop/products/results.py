"""Products as templates and services receive them: views of their records."""

from common import clock
from mirror.read import RawRecord
from shop.products.prices import Price, get_price_at, limit_life_of_page


class ProductRecord(RawRecord):
    """A product: id, price, available, is_active, sales."""

    __slots__ = ()

    @property
    def now(self) -> Price:
        """The current price."""
        moment = clock.now().timestamp()
        limit_life_of_page(self, moment)
        return get_price_at(self, moment)

    @property
    def can_be_bought(self) -> bool:
        """Whether the product is for sale and has a copy left."""
        return bool(self["is_active"]) and self["available"] > 0
