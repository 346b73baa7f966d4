"""Repair: order changes for what verify found. It never writes Redis itself; the relay does, by its own rules."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import orjson

from mirror import outbox, plan, relay
from mirror.compare import Difference
from mirror.entries import Entry
from mirror.models import Change

MOST_REMOVALS = 10_000


class TooManyRemovals(RuntimeError):
    """More would be taken away than the cap allows: is this the right database?"""


def check_cap(differences: Sequence[Difference], cap: int = MOST_REMOVALS) -> None:
    """Raise TooManyRemovals if more than ``cap`` differences are entries to take away."""
    removals = sum(difference.kind == "stray" for difference in differences)
    if removals > cap:
        raise TooManyRemovals(
            f"{removals} entries would be removed and at most {cap} may be: is this the right database? "
            "If it is, raise --max-removals."
        )


def order(differences: Sequence[Difference]) -> int:
    """Append a change for each row that differs, naming what should go; retry what is quarantined.

    Returns how many changes were appended.
    """
    strays: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    if names := {d.mirror for d in differences if d.kind == "quarantined"}:
        outbox.retry(Change.objects.filter(mirror__in=names))
    for difference in differences:
        if difference.kind == "quarantined":
            continue
        found = strays[difference.mirror, difference.pk]
        if difference.kind == "stray" and difference.entry is not None:
            found.append(difference.entry)
    outbox.append_all(
        Change(mirror=mirror, key=pk, strays=orjson.dumps([plan.as_list(e) for e in entries]).decode())
        for (mirror, pk), entries in strays.items()
    )
    return len(strays)


def carry_out(differences: Sequence[Difference], *, redis: Any = None) -> int:
    """Have the relay drain the rows that differ now; everything, if changes were quarantined.

    Returns how many changes were applied.
    """
    if any(difference.kind == "quarantined" for difference in differences):
        return relay.drain_all(redis=redis)
    return sum(relay.drain_keys(mirror, pks, redis=redis)[0] for mirror, pks in _rows(differences).items())


def left_over(differences: Sequence[Difference]) -> int:
    """How many of the rows that differ have a change that is not applied."""
    rows = {(d.mirror, d.key if d.kind == "quarantined" else "", d.pk) for d in differences}
    return len(outbox.pending_among(rows)) if rows else 0


def _rows(differences: Sequence[Difference]) -> dict[str, list[str]]:
    """The rows that differ, by mirror, each once."""
    rows: dict[str, dict[str, None]] = defaultdict(dict)
    for difference in differences:
        rows[difference.mirror][difference.pk] = None
    return {mirror: list(pks) for mirror, pks in rows.items()}
