"""The watches that follow from the columns which a declaration uses."""

from collections.abc import Iterable, Sequence
from functools import partial

from django.db import models
from django.db.models.constants import LOOKUP_SEP

from mirror.declare.mirrors import get_primary
from mirror.declare.paths import Use, find_parent_links, get_concrete
from mirror.declare.watches import Watch
from mirror.utils.rows import all_rows


class _Behind:
    """A table behind relations: the paths to it, and the used columns.

    is_loose: whether a path leads there by a value and not by a constraint, so that a new row may already be used.
    """

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self.columns: dict[str, None] = {}
        self.is_loose = False


def build_watches(model: type[models.Model], uses: Iterable[Use]) -> tuple[Watch, ...]:
    """Return the watches on the columns: one for each table and key, and one for each table behind relations."""
    # Dictionaries with the value None are ordered sets: the order of watches and columns is part of the triggers.
    own: dict[tuple[type[models.Model], str], dict[str, None]] = {(get_concrete(model), ""): {}}
    behind: dict[type[models.Model], _Behind] = {}
    for use in uses:
        table = get_concrete(use.model)  # of a proxy
        if use.path and not _is_own_part(model, use):
            found = behind.setdefault(table, _Behind())
            found.paths[use.path] = None
            found.columns[use.column] = None
            found.is_loose = found.is_loose or use.is_loose
        else:
            own.setdefault((table, use.key), {})[use.column] = None
    watches: list[Watch] = []
    for (table, key), columns in own.items():
        # Without any used column the rows still come and go, which a change of the primary key stands for.
        only = tuple(columns) or (str(get_primary(table).column),)
        watches.append(Watch(table, key, only=only))
    for table, found in behind.items():
        via = partial(find_rows_behind, model, tuple(found.paths))
        watches.append(Watch(table, via=via, only=tuple(found.columns), inserts=found.is_loose))
    return tuple(watches)


def _is_own_part(model: type[models.Model], use: Use) -> bool:
    """Return whether a path leads to the part of the row itself in its parent's table, which has the same key."""
    links = find_parent_links(model, use.model)
    path_to_part = LOOKUP_SEP.join(link.name for link in links)
    return use.path == path_to_part and all(link.primary_key for link in links)


def find_rows_behind(
    model: type[models.Model], paths: Sequence[str], values: Sequence[str], after: str | None, limit: int
) -> list[str]:
    """Return the next keys of rows of ``model`` that one of these relations leads to rows with these primary keys."""
    # With "pk", because a foreign key may hold another column (to_field).
    condition = models.Q()
    for path in paths:
        condition |= models.Q((f"{path}__pk__in", values))
    rows = all_rows(model).filter(condition)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    return [str(pk) for pk in rows.order_by("pk").values_list("pk", flat=True).distinct()[:limit]]
