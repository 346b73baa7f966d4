"""The mirror of sales."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mirror
from common.ids import parse_ids
from mirror import Contribution, Family, Mirror, Scored, Watch
from mirror.declare.mirrors import Record
from shop import keys
from shop.models import Sale, SaleItem
from shop.products.records import SaleRow, load_sales, make_sale_record


@mirror.register
class SaleMirror(Mirror):
    """A sale's record, and its entry in the order by end."""

    name = "sale"
    model = Sale
    watches = (Watch(Sale), Watch(SaleItem, "sale_id"))

    def record_key(self, pk: str) -> str:
        return keys.sale(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, SaleRow]:
        return load_sales(parse_ids(pks))

    def record(self, row: Any) -> Record:
        return make_sale_record(row)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        return (Scored(keys.sales_by_end(), str(record["id"]), record["ends"]),)

    def families(self) -> Sequence[Family]:
        return (Family(keys.sales_by_end(), "zset", lambda key, member: member, whole=True),)
