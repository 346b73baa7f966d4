"""The watches that follow from the columns of a record, its condition and its indexes."""

from collections.abc import Iterable, Sequence
from functools import partial

from django.db import models
from django.db.models.constants import LOOKUP_SEP

from mirror.declare.mirrors import get_primary
from mirror.declare.paths import Use, find_parent_links, get_concrete
from mirror.declare.watches import Watch
from mirror.utils.rows import all_rows


class _RowsBehind:
    """Rows of one table behind relations: the paths to them and the columns that matter, in order, and looseness."""

    def __init__(self) -> None:
        # Dicts, because sets would order columns differently in each process, and so the texts of triggers.
        self.paths: dict[str, None] = {}
        self.columns: dict[str, None] = {}
        self.is_loose = False

    def add_use(self, use: Use) -> None:
        """Add a column and the path to it."""
        self.paths[use.path] = None
        self.columns[use.column] = None
        self.is_loose |= use.is_loose


def build_watches(model: type[models.Model], uses: Iterable[Use]) -> tuple[Watch, ...]:
    """Return the watches on the columns: one for each table and key, and one for each table behind relations."""
    # The row's own table comes first, and is watched even if no column of it is used.
    own: dict[tuple[type[models.Model], str], dict[str, None]] = {(get_concrete(model), ""): {}}
    behind: dict[type[models.Model], _RowsBehind] = {}
    for use in uses:
        table = get_concrete(use.model)  # of a proxy
        if use.path and not _is_own_part(model, use):
            behind.setdefault(table, _RowsBehind()).add_use(use)
        else:
            own.setdefault((table, use.key), {})[use.column] = None
    watches = []
    for (table, key), columns in own.items():
        # An update of the primary key alone counts if no other column matters.
        only = tuple(columns) or (str(get_primary(table).column),)
        watches.append(Watch(table, key, only=only))
    for table, rows in behind.items():
        find_rows = partial(find_rows_behind, model, tuple(rows.paths))
        watches.append(Watch(table, via=find_rows, only=tuple(rows.columns), inserts=rows.is_loose))
    return tuple(watches)


def _is_own_part(model: type[models.Model], use: Use) -> bool:
    """Return whether a path leads to the part of the row itself in its parent's table, which has the same key."""
    links = find_parent_links(model, use.model)
    if not all(link.primary_key for link in links):
        return False
    return use.path == LOOKUP_SEP.join(link.name for link in links)


def find_rows_behind(
    model: type[models.Model], paths: Sequence[str], values: Sequence[str], after: str | None, limit: int
) -> list[str]:
    """Return the next keys of rows of ``model`` that one of these relations leads to rows with these primary keys."""
    condition = models.Q()
    for path in paths:
        # With "pk", because a foreign key may hold another column (to_field).
        condition |= models.Q(**{f"{path}__pk__in": values})
    rows = all_rows(model).filter(condition)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    # distinct(), because several paths, or several related rows, may lead to one row.
    pks = rows.order_by("pk").values_list("pk", flat=True).distinct()
    return [str(pk) for pk in pks[:limit]]
