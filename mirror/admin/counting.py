"""Counts of rows of big tables: exact up to a limit, and marked as estimates above it."""

import json
from typing import Any, Final, Self

from django.core.paginator import Paginator
from django.db import connections
from django.db.models import QuerySet
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

MAX_COUNTED_ROWS: Final = 10_000
DIGITS: Final = 2  # significant digits of an estimate


class Tally(int):
    """A number of rows above ``MAX_COUNTED_ROWS``. Its text says that it is not exact."""

    is_estimate: bool

    def __new__(cls, rows: int, *, is_estimate: bool) -> Self:
        made = super().__new__(cls, rows)
        made.is_estimate = is_estimate
        return made

    def __str__(self) -> str:
        if not self.is_estimate:
            return _("more than %(count)s") % {"count": number_format(MAX_COUNTED_ROWS, force_grouping=True)}
        rows = int(self)
        places = DIGITS - len(str(rows))
        return _("about %(count)s") % {"count": number_format(round(rows, places), force_grouping=True)}


def count_rows(rows: QuerySet[Any]) -> int:
    """Return the number of rows: exact up to ``MAX_COUNTED_ROWS``, otherwise a ``Tally``."""
    keys = rows.order_by().values("pk")
    count = keys[: MAX_COUNTED_ROWS + 1].count()
    if count <= MAX_COUNTED_ROWS:
        return count
    estimate = 0
    if connections[rows.db].vendor == "postgresql":
        plans = json.loads(keys.explain(format="json"))
        estimate = int(plans[0]["Plan"]["Plan Rows"])
    # Without statistics, or on SQLite, only the counted rows are certain.
    return Tally(max(estimate, count), is_estimate=estimate > MAX_COUNTED_ROWS)


class BoundedPaginator(Paginator):
    """A paginator that counts at most ``MAX_COUNTED_ROWS`` rows. ``template_name`` is an option of django-unfold."""

    template_name = "mirror/admin/paging.html"

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return count_rows(rows)
