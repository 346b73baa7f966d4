"""The mirror of sales."""

from collections.abc import Mapping, Sequence
from typing import Any

import mirror
from common.ids import parse_ids
from mirror import Mirror, Ranking, Record, SqlMembers, Watch
from mirror.conf import database
from shop import keys
from shop.models import Sale, SaleItem
from shop.products.records import SaleRow, load_sales, make_sale_record


def find_by_end(values: Mapping[str, str]) -> SqlMembers:
    """Return all sales, by their end."""
    return SqlMembers(Sale.objects.using(database()), score="ends_at")


@mirror.register
class SaleMirror(Mirror):
    """A sale's record, and its entry in the order by end."""

    model = Sale
    version = 2
    key = keys.sale("{pk}")
    watches = (Watch(Sale), Watch(SaleItem, "sale_id"))
    indexes = (Ranking(keys.sales_by_end(), score="ends", sql=find_by_end),)

    def load(self, pks: Sequence[str]) -> Mapping[str, SaleRow]:
        return load_sales(parse_ids(pks))

    def record(self, row: Any) -> Record:
        return make_sale_record(row)
