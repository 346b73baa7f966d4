"""Lists of the admin over tables that may have millions of rows."""

from typing import Any, Final

from django.core.paginator import Paginator
from django.utils.functional import cached_property

COUNTED: Final = 10_000


class BoundedPaginator(Paginator):
    """Counts so many rows and no more; who is looking for one beyond them has to search or filter."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[:COUNTED].count())
