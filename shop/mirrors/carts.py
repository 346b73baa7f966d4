"""The mirror of carts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mirror
from mirror import Contribution, Family, Mirror, OwnField, Record, Watch
from mirror.conf import setting
from shop import keys
from shop.models import Cart


@mirror.register
class CartMirror(Mirror):
    """The record of a live session's cart, and its quantities as a hash."""

    model = Cart
    watches = (Watch(Cart, only=("lines", "version", "is_parked")),)

    def record_key(self, pk: str) -> str:
        return keys.cart_record(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, Cart]:
        return Cart.objects.using(setting("DATABASE")).live().in_bulk(pks)

    def record(self, row: Any) -> Record:
        return {"version": row.version, "lines": row.lines}

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        return [OwnField(keys.cart(pk), product, str(line["quantity"])) for product, line in record["lines"].items()]

    def families(self) -> Sequence[Family]:
        start, _, end = keys.cart("\0").partition("\0")
        return (Family(start, "hash", lambda key, member: key[len(start) : -len(end)]),)
