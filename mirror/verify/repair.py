"""Repair: order changes for the differences that verify found. Only the relay writes Redis, by its usual rules."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import orjson

from mirror import registry
from mirror.comparison import compare, plan
from mirror.comparison.compare import Difference
from mirror.declare.entries import Entry
from mirror.kinds import kind_of
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.relay import drains

MOST_REMOVALS = 10_000


class TooManyRemovals(RuntimeError):
    """A repair would remove more entries than the cap allows. The database may be the wrong one."""


def check_cap(differences: Sequence[Difference], cap: int = MOST_REMOVALS) -> None:
    """Raise TooManyRemovals if more than ``cap`` differences are strays."""
    removals = sum(difference.kind == "stray" for difference in differences)
    if removals > cap:
        raise TooManyRemovals(
            f"{removals} entries would be removed and at most {cap} may be: is this the right database? "
            "If it is, raise --max-removals."
        )


def order(differences: Sequence[Difference]) -> int:
    """Append a change for each row that differs, with its strays, and retry quarantined changes.

    Return the number of appended changes.
    """
    strays: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    quarantined = set()
    for difference in differences:
        if difference.kind == "quarantined":
            quarantined.add(difference.mirror)
            continue
        # Also for a row without strays: it needs a change as well.
        found = strays[difference.mirror, difference.pk]
        if difference.kind == "stray" and difference.entry is not None:
            found.append(difference.entry)
    if quarantined:
        changes.retry(Change.objects.filter(mirror__in=quarantined))
    changes.append_all(_make_change(mirror, pk, entries) for (mirror, pk), entries in strays.items())
    return len(strays)


def _make_change(mirror: str, pk: str, strays: Sequence[Entry]) -> Change:
    # The change names the strays, because no record in Redis accounts for them.
    listed = [plan.as_list(entry) for entry in strays]
    return Change(mirror=mirror, key=pk, strays=orjson.dumps(listed).decode())


def carry_out(differences: Sequence[Difference], *, redis: RedisClient | None = None) -> int:
    """Drain the rows that differ now, or everything if changes were quarantined.

    Return the number of applied changes.
    """
    if any(difference.kind == "quarantined" for difference in differences):
        return drains.drain_all(redis=redis)
    total = 0
    for mirror, pks in _group_rows(differences).items():
        applied, _ = drains.drain_keys(mirror, pks, redis=redis)
        total += applied
    return total


def repair_rows(
    name: str,
    pks: Sequence[str],
    strays: Mapping[str, Iterable[Entry]] = MappingProxyType({}),
    *,
    redis: RedisClient | None = None,
) -> int:
    """Compare these rows of the mirror ``name`` closely, and drain those that differ. Return the number of differences.

    strays: entries in Redis that may be strays, by row; only these are looked for. Raises UnknownMirror, redis-py's
    errors when Redis is away, and Django's.
    """
    redis = redis or relay_client()
    with Session(redis) as session:
        found = compare.differences(kind_of(registry.get(name)), pks, strays, session)
    order(found)
    carry_out(found, redis=redis)
    return len(found)


def count_unapplied(differences: Sequence[Difference]) -> int:
    """Return the number of rows that differ and have an unapplied change."""
    rows = set()
    for difference in differences:
        # The difference of a quarantined change has the change's source as its key.
        source = difference.key if difference.kind == "quarantined" else ""
        rows.add((difference.mirror, source, difference.pk))
    return len(changes.pending_among(rows)) if rows else 0


def _group_rows(differences: Sequence[Difference]) -> dict[str, list[str]]:
    """Return the rows that differ, by mirror, without duplicates."""
    rows: dict[str, dict[str, None]] = defaultdict(dict)
    for difference in differences:
        rows[difference.mirror][difference.pk] = None
    return {mirror: list(pks) for mirror, pks in rows.items()}
