"""Draining keys: the only code that writes mirrored entries.

Correctness depends on the order of the steps, none of which may be moved:

1. Redis: WATCH the rows' own keys and read their records.
2. SQL: read the ids of the pending changes, and only then the rows.
3. Redis: MULTI; write the own keys (always, otherwise WATCH has no effect); remove and add entries; EXEC.
4. SQL: mark exactly those ids as applied (and order the changes of chained mirrors: ``mirror.outbox.chains``).

A crash between any two steps leaves the ids pending, and repeating the drain is harmless. A concurrent write makes
EXEC fail, and the drain starts over with newer rows. So no other drain of a row writes between WATCH and EXEC of
one drain. This puts all drains of a row into one order, and each of them reads SQL later than the one before. The
ids are read before the rows: the rows contain each change with an id that was read, and a change committed in between
stays pending and is drained again. Reading both in one statement would give the same guarantee, but every ``load``
would have to be one statement.
"""

import random
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from mirror.conf import setting
from mirror.declare.entries import Contribution, Entry, Field, OwnField, Value
from mirror.declare.mirrors import Mirror, TableMirror
from mirror.outbox import chains
from mirror.outbox import changes as outbox
from mirror.read import marker, rewind
from mirror.redis.clients import RedisError, relay_client
from mirror.redis.session import Command, Conflict, Session
from mirror.redis.types import RedisClient
from mirror.relay import plan, tables
from mirror.relay.shapes import ABSENT, JsonShape, shape_of
from mirror.utils.callbacks import Step, ignore

TRIES = 20
Claim = Field | Value  # the place of these entries can pass from one row to another


class Drained(NamedTuple):
    """The result of a drain: numbers of written rows and of marked changes."""

    rows: int
    changes: int


Flight = Generator[None, None, Drained]


class _Work(NamedTuple):
    """One attempt at a batch: the data that it read, and the commands' content."""

    changes: list[outbox.Pending]
    owns: dict[str, Any]
    remove: list[Entry]
    add: list[Contribution]
    feed: list[bytes]
    rows: int


def drain(
    mirror: Mirror,
    pks: Sequence[str],
    *,
    redis: RedisClient | None = None,
    full: bool = False,
    step: Step = ignore,
    tries: int = TRIES,
    shape: JsonShape | None = None,
) -> Drained:
    """Make the records and entries of these rows equal to SQL, and mark their changes as applied.

    full: write every entry again, not only the difference to the previous record, and leave the feed alone (for a
    rebuild). step: called with the name of each step before it. shape: replaces the mirror's shape.

    Raises Conflict after too many concurrent writes, redis-py's errors when Redis is away, ProgrammingError inside
    a transaction, and any error of the declaration.
    """
    for attempt in range(tries):
        try:
            return land(launch(mirror, pks, redis=redis, full=full, step=step, shape=shape))
        except Conflict:
            time.sleep(random.uniform(0, 0.002 * min(attempt, 10)))
    raise Conflict(f"{mirror.name}: others kept writing the same rows")


def launch(
    mirror: Mirror,
    pks: Sequence[str],
    *,
    redis: RedisClient | None = None,
    full: bool = False,
    step: Step = ignore,
    shape: JsonShape | None = None,
) -> Flight:
    """Run the first half of an attempt, up to sending the write. Redis executes it in the background.

    ``land`` is the second half. The changes of a dropped flight stay pending. Raises the same errors as ``drain``.
    """
    outbox.refuse_transaction()
    flight = (
        _fly_within_sql(mirror, pks)
        if isinstance(mirror, TableMirror)
        else _fly(shape or shape_of(mirror), pks, redis or relay_client(), full, step)
    )
    next(flight)
    return flight


def land(flight: Flight) -> Drained:
    """Run the second half: collect the result of the write and mark the changes.

    Raises Conflict if nothing was written.
    """
    try:
        next(flight)
    except StopIteration as stop:
        drained: Drained = stop.value
        return drained
    raise AssertionError("a flight has two halves")


def _fly_within_sql(mirror: TableMirror, pks: Sequence[str]) -> Flight:
    yield
    return Drained(len(pks), tables.replace_rows(mirror, pks))


def _fly(shape: JsonShape, pks: Sequence[str], redis: RedisClient, full: bool, step: Step) -> Flight:
    with Session(redis) as session:
        step("watch")
        said = shape.said(pks, session.watch_and_ask(shape.watches(pks), shape.ask(pks)))
        step("read")
        work = _work(shape, pks, said, full)
        if not work.rows:
            yield
            return Drained(0, 0)
        work = _settle_claims(session, shape, pks, said, full, work)
        step("write")
        session.post_transaction(_commands(shape, work))
        yield
        _collect(session, work)
        incarnation = session.incarnation
    step("mark")
    chains.mark(shape.mirror.name, work.changes, incarnation)
    step("done")
    return Drained(work.rows, len(work.changes))


def _collect(session: Session, work: _Work) -> None:
    """Collect the result of the write.

    If one command of a transaction fails, Redis executes the others. The record may then exist without an entry, so
    the next attempt must not rely on the record.
    """
    try:
        session.collect_transaction()
    except RedisError:
        outbox.write_anew([change.id for change in work.changes])
        raise


def _work(shape: JsonShape, pks: Sequence[str], said: Sequence[Any], full: bool) -> _Work:
    """Read SQL (first ids, then rows) and compute the difference."""
    pending = shape.pending(pks)
    if shape.sums_up and not pending and not full:  # another drain has applied the changes of all rows
        return _Work([], {}, [], [], [], 0)
    targets = shape.wanted(pks, said)
    work = _Work([], {}, [], [], [], len(pks))
    feed = shape.mirror.feed() is not None and not full
    for pk, before in zip(pks, said, strict=True):
        target = targets.get(pk, ABSENT)
        changes = pending.get(pk, ())
        work.changes.extend(changes)
        work.owns[pk] = target.own
        strays = [plan.from_list(s) for c in changes if c.strays for s in orjson.loads(c.strays)]
        anew = full or any(change.strays for change in changes)
        add: Sequence[Contribution] = target.entries
        accounted = [*_accounted(shape, pk, before), *strays]
        remove: list[Entry] = []
        if accounted:
            remove, changed = plan.difference(accounted, target.entries)
            if not anew and before is not None:  # otherwise the entries of the previous record may be missing
                add = changed
        work.remove.extend(remove)
        work.add.extend(add)
        if feed and (remove or add):
            work.feed.append(plan.news(remove, add))
    return work


def _accounted(shape: JsonShape, pk: str, said: Any) -> list[Contribution]:
    """Return the entries of the previous record, or none if it cannot be read; verification finds the rest."""
    try:
        return list(shape.before(pk, said))
    except Exception:  # a record of another layout or from another writer may raise anything
        return []


def _settle_claims(
    session: Session, shape: JsonShape, pks: Sequence[str], said: Sequence[Any], full: bool, work: _Work
) -> _Work:
    """Settle which row owns a place that passes from one row to another (a name): remove only values of this row.

    The places are watched and read. If one that this drain wants to write holds another row's value, SQL is read
    once more. From then on the WATCH notices any change of the place.
    """
    seen: dict[tuple[str, ...], str | None] = {}
    while places := _claims(work) - seen.keys():
        ordered = sorted(places)
        asks: list[Command] = [("GET", *p) if len(p) == 1 else ("HGET", *p) for p in ordered]
        replies = session.watch_and_ask(sorted({p[0] for p in ordered}), asks)
        found = {p: None if r is None else r.decode(errors="replace") for p, r in zip(ordered, replies, strict=True)}
        seen |= found
        if any(found.get(plan.place(e)) not in (None, e[-1]) for e in _claiming(work.add)):
            work = _work(shape, pks, said, full)
    added = {plan.place(e) for e in _claiming(work.add)}
    kept = [e for e in work.remove if not isinstance(e, Claim) or _is_own(e, seen, added)]
    return work._replace(remove=kept)


def _claims(work: _Work) -> set[tuple[str, ...]]:
    return {plan.place(e) for entries in (work.add, work.remove) for e in _claiming(entries)}


def _claiming(entries: Iterable[Contribution]) -> Iterator[Claim]:
    return (entry for entry in entries if isinstance(entry, Claim) and not isinstance(entry, OwnField))


def _is_own(entry: Claim, seen: dict[tuple[str, ...], str | None], added: set[tuple[str, ...]]) -> bool:
    place = plan.place(entry)
    return place not in added and (isinstance(entry, OwnField) or seen[place] == entry[-1])


def _commands(shape: JsonShape, work: _Work) -> list[Command]:
    commands = shape.write(work.owns) + plan.commands(work.remove, work.add)
    commands += shape.mirror.extra_commands(work.owns)
    if work.changes:
        commands.append(rewind.remember(marker.database_identity(), [change.id for change in work.changes]))
    feed = shape.mirror.feed()
    length = int(setting("FEED_LENGTH"))
    commands += [("XADD", feed, "MAXLEN", "~", length, "*", "d", news) for news in work.feed]
    return commands
