"""The SQL side of the relay: queries for pending, applied and quarantined changes.

Every statement runs outside of the caller's transactions and names exact ids, never ``id <= max``, because a change
with a smaller id may be committed later.
"""

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connections, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.db.utils import ProgrammingError

from mirror import registry
from mirror.conf import setting
from mirror.models import Change
from mirror.outbox import progress, queries
from mirror.outbox.queries import Wanted
from mirror.utils import moments
from mirror.utils.commit import is_in_transaction

SQL_FALLBACK_SECONDS: Final = 60  # how long SQL answers the author of a quarantined change

MUCH = 200  # with more pending changes, a request drains none: it could not finish within its budget
PURGE = 5000  # applied changes deleted in one statement
# Changes of one key applied by one drain (34 ms). On SQLite a window over a table gets one change for each written row,
# so that the first request after an import of 60,000 rows would mark all of them (1.3 s).
MOST = 2000
MOST_AT_ONCE = 20_000  # changes of many keys applied by one drain
# The key of a change of everything, which concerns a whole mirror. A row may have any printable text as its key.
WHOLE = "\1everything"
INCOMPLETE = "[]"  # no stray is known, but every entry has to be written again


class OutdatedLayout(Exception):
    """Another version of the code maintains this mirror (``mirror.capture.layouts``)."""


class InTransaction(ProgrammingError):
    """The relay was called inside a transaction."""


class Pending(NamedTuple):
    """A pending change: its id, its key, and the strays that repair found."""

    id: int
    key: str
    strays: str


class Awaited(NamedTuple):
    """A change that readers wait for."""

    id: int
    mirror: str
    source: str
    key: str


def using() -> str:
    """Return the alias of the mirrored database."""
    return str(setting("DATABASE"))


_within_test = ContextVar("within_test", default=False)


@contextmanager
def within_test() -> Generator[None, None, None]:
    """Let the relay run in the transaction of a TestCase, whose keys the test removes (``mirror.testing``)."""
    token = _within_test.set(True)
    try:
        yield
    finally:
        _within_test.reset(token)


def refuse_transaction() -> None:
    """Raise InTransaction inside a transaction, because uncommitted changes must not reach Redis."""
    if is_in_transaction(using()) and not _within_test.get():
        raise InTransaction("The relay cannot run in a transaction: it would mirror changes that may be rolled back.")


def pending_of(mirror: str, keys: Sequence[str], layout: object = "") -> dict[str, list[Pending]]:
    """Return the unapplied changes of these keys, quarantined ones included, by key.

    At most the oldest ``MOST`` of each key, and fewer with many keys. The next drain gets the others. layout: of the
    caller's declaration. Raises OutdatedLayout if the same statement finds another one.
    """
    (found,), _ = read_pending([Wanted(mirror, layout, keys)])
    return found


def read_pending(
    wanted: Sequence[Wanted], queries_after: Sequence[queries.Query] = ()
) -> tuple[list[dict[str, list[Pending]]], list[list[queries.Row]]]:
    """Do the same for the keys of several mirrors, and execute further queries after this statement.

    Return the changes, and the rows of each of these queries. One round trip if the database allows it.
    """
    found: dict[str, dict[str, list[Pending]]] = {name: defaultdict(list) for name, _, _ in wanted}
    rows = sum(len(keys) for _, _, keys in wanted)
    most_of_each = max(1, min(MOST, MOST_AT_ONCE // max(1, rows)))
    pending = queries.find_pending(wanted, most_of_each)
    changes, *results = queries.fetch_all([pending, *queries_after], using())
    for name, pk, key, strays in changes:
        found[name][key].append(Pending(pk, key, strays))
    for name, layout, _ in wanted:
        others = found[name].pop(queries.LAYOUT, None)
        if others and layout != "":
            raise OutdatedLayout(f"{name}: this process has the layout {layout}, and {others[0].strays} is in use")
    return [found[name] for name, _, _ in wanted], results


def pending_among(changes: Collection[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return which of these changes (mirror, source, key) are not applied, quarantined ones included."""
    return [(mirror, source, key) for mirror, source, key in _fetch(queries.find_pending_among(changes))]


def pending_of_mirrors(names: Collection[str], limit: int) -> list[tuple[str, str, str]]:
    """Return up to ``limit`` pending changes (mirror, source, key) of each of these mirrors, in no order of time."""
    return [(mirror, source, key) for mirror, source, key in _fetch(queries.find_pending_of_mirrors(names, limit))]


def quarantined(limit: int) -> list[tuple[str, str, str]]:
    """Return up to ``limit`` quarantined changes: mirror, source, key."""
    return [(mirror, source, key) for mirror, source, key in _fetch(queries.find_quarantined(limit))]


def pending_at_all(mirror: str, limit: int) -> list[Pending]:
    """Return up to ``limit`` unapplied changes of this mirror's rows."""
    changes = Change.objects.using(using()).of_mirror(mirror).filter(source="")
    return [Pending._make(row) for row in changes.values_list("id", "key", "strays")[:limit]]


def mark_applied(ids: Sequence[int], incarnation: str) -> int:
    """Mark exactly these changes as applied to Redis in that incarnation, with the time of SQL's clock.

    incarnation "": nothing had to be written to Redis. Return the number of changes that were not marked before.
    """
    if not ids:
        return 0
    return _execute(queries.mark_applied(ids, incarnation))


def mark_incomplete(ids: Sequence[int]) -> None:
    """Record that every entry of these changes' rows has to be written again, whatever their records list."""
    _execute(queries.set_strays(ids, INCOMPLETE))


def next_keys(after: int, limit: int) -> tuple[dict[str, list[str]], int | None]:
    """Return the keys of the next ``limit`` pending changes after the id ``after``, by mirror, without duplicates.

    Also return the id to continue from, or None without further changes.
    """
    changes = Change.objects.using(using()).pending().filter(source="", id__gt=after).in_order()
    keys: dict[str, dict[str, None]] = defaultdict(dict)
    last: int | None = None
    for pk, mirror, key in changes.values_list("id", "mirror", "key")[:limit]:
        keys[mirror][key] = None
        last = pk
    return {mirror: list(of_mirror) for mirror, of_mirror in keys.items()}, last


def list_newest(limit: int) -> list[tuple[str, str]]:
    """Return mirror and key of the newest changes of rows, newest first; ``limit`` changes of any kind are read."""
    newest = Change.objects.using(using()).order_by("-id").values_list("mirror", "key", "source")[:limit]
    return [(mirror, key) for mirror, key, source in newest if not source]


def append(mirror: str, keys: Iterable[str], *, strays: str = "") -> None:
    """Append changes: for rows that depend on a source, chained rows, repairs, and failures of a rebuild."""
    append_all(Change(mirror=mirror, key=key, strays=strays) for key in keys)


def append_all(changes: Iterable[Change]) -> None:
    """Append these changes."""
    Change.objects.using(using()).bulk_create(list(changes), batch_size=1000)


def failed(mirror: str, key: str, error: str, *, source: str = "") -> None:
    """Count a failure of one key, and quarantine its changes with the error after too many."""
    # SQL counts (``F``), because several processes may fail at the same key at the same time.
    with transaction.atomic(using=using()):
        changes = Change.objects.using(using()).pending().filter(mirror=mirror, key=key, source=source)
        changes.update(attempts=F("attempts") + 1, error=error[:2000])
        changes.filter(attempts__gte=setting("ATTEMPTS")).update(quarantined_at=Now())


def retry(changes: QuerySet[Change]) -> int:
    """Make the quarantined ones among ``changes`` pending again, without counted attempts. Return their number."""
    return _select_quarantined(changes).update(quarantined_at=None, attempts=0)


def discard(changes: QuerySet[Change]) -> int:
    """Delete the quarantined ones among ``changes``. Return their number.

    Redis stays as it is, and verify reports the differences.
    """
    count, _ = _select_quarantined(changes).delete()
    return count


def _select_quarantined(changes: QuerySet[Change]) -> QuerySet[Change]:
    return Change.objects.using(using()).quarantined().filter(id__in=changes.order_by().values("id"))


def newest_unapplied() -> int | None:
    """Return the highest id of a change that readers wait for, or None."""
    found = _find_awaited("id", "id > 0 ORDER BY id DESC", [], 1)
    if not found:
        return None
    ((pk,),) = found
    return int(pk)


def awaited() -> list[Awaited]:
    """Return the changes that readers wait for, newest first, and at most one more than ``MUCH``."""
    found = _find_awaited("id, mirror, source, key", "id > 0 ORDER BY id DESC", [], MUCH + 1)
    return list(map(Awaited._make, found))


def is_unapplied_up_to(last: int) -> bool:
    """Return whether readers wait for a change with an id of at most ``last``, or for one chained to it."""
    if _find_awaited("id", "id > 0 AND id <= %s ORDER BY id", [last], 1):
        return True
    # Chained changes have higher ids, so any change of a chained mirror counts.
    chained = "mirror = %s AND source = '' ORDER BY key, created_at"
    return any(_find_awaited("id", chained, [name], 1) for name in registry.after_others())


def _find_awaited(columns: str, condition: str, values: Sequence[str | int], limit: int) -> list[tuple[Any, ...]]:
    """Find changes that readers wait for (``queries.find_awaited``)."""
    found = queries.find_awaited(
        columns,
        condition,
        values,
        limit,
        seconds=SQL_FALLBACK_SECONDS,
        pushed=registry.pushed(),
        unawaited=registry.list_unawaited(),
    )
    return _fetch(found)


def purge(limit: int = PURGE, *, below: int) -> int:
    """Delete up to ``limit`` applied changes that replay no longer needs, with ids below ``below``.

    Return their number.
    """
    # By SQL's clock, which also marked the changes: the clocks of hosts may differ.
    oldest = moments.to_bound(clock() - float(setting("KEEP_SECONDS")))
    found = Change.objects.using(using()).filter(applied_at__lt=oldest, id__lt=below).order_by("applied_at")
    return _execute(queries.delete(found.values_list("id", flat=True)[:limit]))


def unapply_since(moment: datetime, incarnation: str) -> int:
    """Make changes pending again that another incarnation applied since ``moment``. Return their number.

    Changes marked without an incarnation ("") wrote nothing to Redis: sources, whose dependent rows have changes of
    their own. Pushed changes keep their incarnation, which identifies them for the replay from the start.
    """
    found = Change.objects.using(using()).filter(applied_at__gte=moment).exclude(incarnation__in=["", incarnation])
    pushed = found.filter(progress.is_pushed()).update(applied_at=None, cursor=None)
    return pushed + found.update(applied_at=None, incarnation="")


def clock() -> float:
    """Return SQL's own clock, in seconds since 1970."""
    ((seconds,),) = _fetch(queries.read_clock())
    return float(seconds)


def _fetch(query: queries.Query) -> list[tuple[Any, ...]]:
    """Return the rows that a query finds."""
    with connections[using()].cursor() as cursor:
        cursor.execute(*query)
        return cursor.fetchall()


def _execute(query: queries.Query) -> int:
    """Execute a statement. Return the number of rows that it changed."""
    with connections[using()].cursor() as cursor:
        cursor.execute(*query)
        return int(cursor.rowcount)
