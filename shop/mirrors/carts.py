"""The mirror of carts."""

from collections.abc import Iterable, Sequence

from django.db.models import Q

import mirror
from mirror import Contribution, Family, Mirror, OwnField, Record
from shop import keys
from shop.models import Cart


@mirror.register
class CartMirror(Mirror):
    """The record of a live session's cart, and its quantities as a hash."""

    model = Cart
    fields = ("version", "lines")
    where = Q(is_parked=False)

    def record_key(self, pk: str) -> str:
        return keys.cart_record(pk)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        return [OwnField(keys.cart(pk), product, str(line["quantity"])) for product, line in record["lines"].items()]

    def families(self) -> Sequence[Family]:
        start, _, end = keys.cart("\0").partition("\0")
        return (Family(start, "hash", lambda key, member: key[len(start) : -len(end)]),)
