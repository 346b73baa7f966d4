"""Pagination for admin lists of tables that may have millions of rows."""

from typing import Any, Final

from django.core.paginator import Paginator
from django.utils.functional import cached_property

MAX_COUNTED_ROWS: Final = 10_000


class BoundedPaginator(Paginator):
    """A paginator that counts at most MAX_COUNTED_ROWS rows. Rows beyond them are reached by a search or a filter."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[:MAX_COUNTED_ROWS].count())
