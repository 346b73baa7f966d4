"""The statements of the outbox in plain SQL, each with a name and the reason why it looks as it does.

They are in plain SQL because drains and requests wait for them: Django would compile some for longer than they run, and
the planner has to find the index that each of them is written for ("mirror > ''" implies the condition of a
``NarrowIndex``). Other questions are querysets in ``mirror.outbox.changes``. Each function returns the SQL and its
parameters.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from django.db import connections

from mirror.conf import setting
from mirror.utils import arrays
from mirror.utils.queries import Query, Row, fetch_all

__all__ = ["Query", "Row", "fetch_all"]
LAYOUT: Final = "\1layout"  # stands for the key in rows that name another layout; no key of a change
_SQLITE_NOW: Final = "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')"


class Wanted(NamedTuple):
    """Keys of a mirror, with the layout of the caller's declaration ("": any)."""

    mirror: str
    layout: object
    keys: Sequence[str]


def _is_postgres() -> bool:
    return connections[setting("DATABASE")].vendor == "postgresql"


def find_pending(wanted: Iterable[Wanted], limit: int) -> Query:
    """Find the unapplied changes of these keys: mirror, id, key, strays. At most ``limit`` for each key.

    A mirror whose recorded layout is another one has a row with the key ``LAYOUT`` and that layout. One statement asks
    both, so that no layout is recorded between them.
    """
    selects: list[str] = []
    values: list[Any] = []
    others: list[str] = []
    layouts: list[Any] = []
    for mirror, layout, keys in wanted:
        select, parameters = _find_pending_of_mirror(mirror, list(dict.fromkeys(keys)), limit)
        selects.append(select)
        values += parameters
        others.append("(mirror = %s AND layout NOT IN ('', %s))")
        layouts += (mirror, str(layout))
    selects.append(f"SELECT mirror, 0, '{LAYOUT}', layout FROM mirror_state WHERE {' OR '.join(others)}")
    return Query(" UNION ALL ".join(selects), values + layouts)


def _find_pending_of_mirror(mirror: str, keys: Sequence[str], limit: int) -> Query:
    own = "p.applied_at IS NULL AND p.mirror = %s AND p.mirror > '' AND p.source = ''"
    if len(keys) == 1:
        # PostgreSQL would plan the other statement for longer than it runs.
        found = f"SELECT p.* FROM mirror_change p WHERE {own} AND p.key = %s ORDER BY p.created_at LIMIT %s"
        return Query(f"SELECT c.mirror, c.id, c.key, c.strays FROM ({found}) AS c", [mirror, keys[0], limit])
    source, values = arrays.list_values(keys, "text")
    found = f"FROM mirror_change p WHERE {own} AND p.key = k.value ORDER BY p.created_at LIMIT %s"
    changes = arrays.join_found("mirror_change", found, "c")
    return Query(f"SELECT c.mirror, c.id, c.key, c.strays FROM {source} {changes}", [*values, mirror, limit])


def find_pending_among(changes: Collection[tuple[str, str, str]]) -> Query:
    """Find which of these changes (mirror, source, key) are not applied. The oldest of equal ones is enough."""
    own = "p.applied_at IS NULL AND p.mirror = k.mirror AND p.mirror > '' AND p.key = k.key AND p.source = k.source"
    source, values = arrays.make_table(dict.fromkeys(("mirror", "source", "key"), "text"), changes, "k")
    found = arrays.join_found("mirror_change", f"FROM mirror_change p WHERE {own} ORDER BY p.created_at LIMIT 1", "c")
    return Query(f"SELECT k.mirror, k.source, k.key FROM {source} {found}", values)


def find_pending_of_mirrors(names: Collection[str], limit: int) -> Query:
    """Find up to ``limit`` pending changes (mirror, source, key) of each mirror, in the order of the index of keys."""
    own = "p.applied_at IS NULL AND p.quarantined_at IS NULL AND p.mirror = k.value AND p.mirror > ''"
    source, values = arrays.list_values(names, "text")
    first = f"FROM mirror_change p WHERE {own} ORDER BY p.key, p.created_at LIMIT %s"
    found = arrays.join_found("mirror_change", first, "c")
    return Query(f"SELECT c.mirror, c.source, c.key FROM {source} {found}", [*values, limit])


def find_quarantined(limit: int) -> Query:
    """Find up to ``limit`` quarantined changes: mirror, source, key."""
    quarantined = "applied_at IS NULL AND quarantined_at IS NOT NULL"
    return Query(f"SELECT DISTINCT mirror, source, key FROM mirror_change WHERE {quarantined} LIMIT %s", [limit])


def find_awaited(
    columns: str,
    condition: str,
    values: Sequence[str | int],
    limit: int,
    *,
    seconds: int,
    pushed: Sequence[tuple[str, str]],
    unawaited: Sequence[str],
) -> Query:
    """Find the changes that readers wait for: pending ones, and those that were quarantined in the last ``seconds``.

    Staff handle the older quarantined ones, which keep no reader on SQL. A push in progress is left out too: its
    author has had the row since the first slice. pushed: mirror and source of pushed rows. unawaited: mirrors with
    changes that no reader waits for. condition: ends with an order that an index has.
    """
    period: Any
    if _is_postgres():
        lately = "STATEMENT_TIMESTAMP() - %s * INTERVAL '1 second'"
        period = seconds
    else:
        lately = _SQLITE_NOW[:-1] + ", %s)"
        period = f"-{seconds} seconds"
    pairs = " OR ".join(["(mirror = %s AND source = %s)"] * len(pushed)) or "1 = 0"
    others = ", ".join(["%s"] * len(unawaited)) or "''"
    return Query(
        f"SELECT {columns} FROM mirror_change WHERE applied_at IS NULL"
        f" AND (quarantined_at IS NULL OR quarantined_at > {lately})"
        f" AND NOT (cursor IS NOT NULL AND ({pairs})) AND mirror NOT IN ({others}) AND {condition} LIMIT %s",
        [period, *chain.from_iterable(pushed), *unawaited, *values, limit],
    )


def mark_applied(ids: Iterable[int], incarnation: str) -> Query:
    """Mark exactly these changes as applied, unless they are, at SQL's own time and not that of the transaction."""
    condition, values = arrays.match_any(ids)
    now = "CLOCK_TIMESTAMP()" if _is_postgres() else _SQLITE_NOW
    return Query(
        f"UPDATE mirror_change SET applied_at = {now}, incarnation = %s, quarantined_at = NULL"
        f" WHERE applied_at IS NULL AND id {condition}",
        [incarnation, *values],
    )


def set_strays(ids: Iterable[int], strays: str) -> Query:
    """Set the strays of these changes where they name none."""
    condition, values = arrays.match_any(ids)
    return Query(f"UPDATE mirror_change SET strays = %s WHERE strays = '' AND id {condition}", [strays, *values])


def delete(ids: Iterable[int]) -> Query:
    """Delete these changes. Django would collect related rows first."""
    condition, values = arrays.match_any(ids)
    return Query(f"DELETE FROM mirror_change WHERE id {condition}", values)


def read_clock() -> Query:
    """Read SQL's own clock, in seconds since 1970."""
    if _is_postgres():
        return Query("SELECT EXTRACT(EPOCH FROM CLOCK_TIMESTAMP())", [])
    return Query("SELECT (JULIANDAY('now') - 2440587.5) * 86400.0", [])
