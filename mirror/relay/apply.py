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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import orjson

from mirror import registry
from mirror.conf import setting
from mirror.declare.entries import Contribution, Entry, Field, OwnField, Value
from mirror.declare.mirrors import Mirror, TableMirror
from mirror.kinds import ABSENT, JsonShape, plan, shape_of
from mirror.outbox import chains
from mirror.outbox import changes as outbox
from mirror.redis.clients import RedisError, relay_client
from mirror.redis.session import Command, Conflict, Session, is_cluster
from mirror.redis.types import RedisClient
from mirror.relay import fenced, tables
from mirror.utils.callbacks import Step, ignore
from mirror.warm import marker, rewind

TRIES = 20
Claim = Field | Value  # the place of these entries can pass from one row to another


class Drained(NamedTuple):
    """The result of a drain: numbers of written rows and of marked changes."""

    rows: int
    changes: int


Flight = Generator[None, None, Drained]


class _Part(NamedTuple):
    """Rows of one mirror, which one transaction writes together with those of others."""

    shape: JsonShape
    pks: Sequence[str]


class _Work(NamedTuple):
    """One attempt at a part: the data that it read, and the commands' content."""

    changes: list[outbox.Pending]
    owns: dict[str, Any]
    remove: list[Entry]
    add: list[Contribution]
    feed: list[bytes]
    by_row: dict[str, fenced.RowWork]  # only on a cluster


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
    return _try(
        lambda is_forced: launch(mirror, pks, redis=redis, full=full, step=step, shape=shape, is_forced=is_forced),
        tries,
        mirror.name,
    )


def drain_together(rows: Mapping[str, Sequence[str]], *, redis: RedisClient | None = None, tries: int = TRIES) -> int:
    """Drain the rows of several mirrors, by name, in one transaction. Return the number of marked changes.

    Rows without pending changes are left alone. The mirrors are written in the given order. Table mirrors and summaries
    cannot take part. Raises the same errors as ``drain``, and UnknownMirror.
    """
    parts = [_Part(shape_of(registry.get(name)), pks) for name, pks in rows.items()]
    return _try(
        lambda is_forced: _take_off(
            _fly(parts, redis or relay_client(), pending_only=True, is_forced=is_forced),
        ),
        tries,
        "|".join(rows),
    ).changes


def _try(start: Callable[[bool], Flight], tries: int, names: str) -> Drained:
    for attempt in range(tries):
        try:
            return land(start(attempt >= tries // 2))
        except Conflict:
            time.sleep(random.uniform(0, 0.002 * min(attempt, 10)))
    raise Conflict(f"{names}: others kept writing the same rows")


def launch(
    mirror: Mirror,
    pks: Sequence[str],
    *,
    redis: RedisClient | None = None,
    full: bool = False,
    step: Step = ignore,
    shape: JsonShape | None = None,
    is_forced: bool = True,
) -> Flight:
    """Run the first half of an attempt, up to sending the write. Redis executes it in the background.

    is_forced: on a cluster, do not wait for drains of the same rows that have begun a moment ago.

    ``land`` is the second half. The changes of a dropped flight stay pending. Raises the same errors as ``drain``.
    """
    if isinstance(mirror, TableMirror):
        return _take_off(_fly_within_sql(mirror, pks))
    part = _Part(shape or shape_of(mirror), pks)
    return _take_off(_fly([part], redis or relay_client(), full, step, is_forced=is_forced))


def _take_off(flight: Flight) -> Flight:
    outbox.refuse_transaction()
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


def _fly(
    parts: Sequence[_Part],
    redis: RedisClient,
    full: bool = False,
    step: Step = ignore,
    *,
    pending_only: bool = False,
    is_forced: bool = True,
) -> Flight:
    with Session(redis) as session:
        write = (_Fenced if is_cluster(redis) else _Transaction)(session, parts, is_forced)
        step("watch")
        said = write.begin()
        step("read")

        def read() -> list[_Work]:
            return _read(parts, said, full, pending_only, write.staged)

        works = read()
        rows = sum(len(work.owns) for work in works)
        if not rows:
            write.release()
            yield
            return Drained(0, 0)
        works = write.settle(works, read)
        step("write")
        write.post(works)
        yield
        _collect(write, works)
        incarnation = session.incarnation
    step("mark")
    changes = {part.shape.mirror.name: work.changes for part, work in zip(parts, works, strict=True)}
    chains.mark(changes, incarnation)
    step("done")
    return Drained(rows, sum(map(len, changes.values())))


class _Transaction:
    """Writing on one Redis: WATCH, and one transaction."""

    staged: fenced.Staged = None

    def __init__(self, session: Session, parts: Sequence[_Part], is_forced: bool) -> None:
        self.session, self.parts = session, parts

    def begin(self) -> list[Sequence[Any]]:
        """Watch the rows' own keys and read their states, by part."""
        return _ask(self.session, self.parts)

    def settle(self, works: list[_Work], read: Callable[[], list[_Work]]) -> list[_Work]:
        """Settle which rows own places that pass from one row to another."""
        return _settle_claims(self.session, works, read)

    def post(self, works: Sequence[_Work]) -> None:
        """Send the write."""
        pairs = zip(self.parts, works, strict=True)
        self.session.post_transaction([command for part, work in pairs for command in _commands(part.shape, work)])

    def collect(self) -> None:
        """Wait for the write. Raises Conflict."""
        self.session.collect_transaction()

    def release(self) -> None:
        """Do nothing: the session ends the watches."""


class _Fenced(_Transaction):
    """Writing on a cluster (``fenced``)."""

    def __init__(self, session: Session, parts: Sequence[_Part], is_forced: bool) -> None:
        super().__init__(session, parts, is_forced)
        self.fences = fenced.Fences(session, parts, is_forced=is_forced)
        self.staged = self.fences.staged

    def begin(self) -> list[Sequence[Any]]:
        return self.fences.begin()

    def settle(self, works: list[_Work], read: Callable[[], list[_Work]]) -> list[_Work]:
        self.works = works

        def read_again() -> fenced.Works:
            self.works = read()
            return self._by_row()

        self.fences.claim(self._by_row(), read_again)
        return self.works

    def post(self, works: Sequence[_Work]) -> None:
        changes = [change.id for work in works for change in work.changes]
        try:
            self.fences.post(self._by_row(), [_remember(changes)] if changes else [])
        except RedisError:
            outbox.write_anew(changes)
            raise

    def collect(self) -> None:
        self.fences.collect()

    def release(self) -> None:
        self.fences.release()

    def _by_row(self) -> fenced.Works:
        return [(part.shape, work.by_row) for part, work in zip(self.parts, self.works, strict=True)]


def _ask(session: Session, parts: Sequence[_Part]) -> list[Sequence[Any]]:
    """Watch the rows' own keys and read their states, by part, in one round trip."""
    asks = [part.shape.ask(part.pks) for part in parts]
    keys = [key for part in parts for key in part.shape.watches(part.pks)]
    replies = iter(session.watch_and_ask(keys, list(chain.from_iterable(asks))))
    return [part.shape.said(part.pks, list(islice(replies, len(ask)))) for part, ask in zip(parts, asks, strict=True)]


def _collect(write: _Transaction, works: Sequence[_Work]) -> None:
    """Collect the result of the write.

    If one command of a transaction fails, Redis executes the others. The record may then exist without an entry, so
    the next attempt must not rely on the record.
    """
    try:
        write.collect()
    except RedisError:
        outbox.write_anew([change.id for work in works for change in work.changes])
        raise


def _read(
    parts: Sequence[_Part], said: Sequence[Sequence[Any]], full: bool, pending_only: bool, staged: fenced.Staged
) -> list[_Work]:
    """Read SQL (first ids, then rows) and compute the difference."""
    if len(parts) == 1:
        found = [parts[0].shape.pending(parts[0].pks)]
    else:
        mirrors = ((part.shape.mirror, part.pks) for part in parts)
        found = outbox.pending_together([(mirror.name, mirror.version, pks) for mirror, pks in mirrors])
    works = []
    for part, states, pending in zip(parts, said, found, strict=True):
        # Another drain may have applied all changes. For a summary, the first one does so for all rows.
        left = pending_only or (part.shape.sums_up and not pending and not full)
        rows = {pk: state for pk, state in zip(part.pks, states, strict=True) if not left or pk in pending}
        works.append(_work(part.shape, rows, pending, full, staged))
    return works


def _work(
    shape: JsonShape,
    rows: Mapping[str, Any],
    pending: Mapping[str, Sequence[outbox.Pending]],
    full: bool,
    staged: fenced.Staged,
) -> _Work:
    """Compute the difference for these rows, given their present states and pending changes."""
    work = _Work([], {}, [], [], [], {})
    if not rows:
        return work
    targets = shape.wanted(list(rows), list(rows.values()))
    feed = shape.mirror.feed() is not None and not full
    for pk, before in rows.items():
        target = targets.get(pk, ABSENT)
        changes = pending.get(pk, ())
        work.changes.extend(changes)
        work.owns[pk] = target.own
        strays = [plan.from_list(s) for c in changes if c.strays for s in orjson.loads(c.strays)]
        unfinished = staged.get((shape.mirror.name, pk)) if staged else None
        strays += unfinished or ()
        anew = full or unfinished is not None or any(change.strays for change in changes)
        remove, changed = shape.difference(pk, before, strays, target)
        # Without a previous record, or after a failed write, any entry may be missing.
        add = target.entries if anew or before is None else changed
        work.remove.extend(remove)
        work.add.extend(add)
        news = plan.news(remove, add) if feed and (remove or add) else None
        if news is not None:
            work.feed.append(news)
        if staged is not None:
            reach = () if unfinished is None else [*shape.accounted(pk, before), *strays, *target.entries]
            work.by_row[pk] = fenced.RowWork(before, target.own, remove, add, reach, news)
    return work


def _settle_claims(session: Session, works: list[_Work], read: Callable[[], list[_Work]]) -> list[_Work]:
    """Settle which row owns a place that passes from one row to another (a name): remove only values of this row.

    The places are watched and read. If one that this drain wants to write holds another row's value, SQL is read
    once more. From then on the WATCH notices any change of the place.
    """
    seen: dict[tuple[str, ...], str | None] = {}
    while places := set().union(*map(_claims, works)) - seen.keys():
        ordered = sorted(places)
        asks: list[Command] = [("GET", *p) if len(p) == 1 else ("HGET", *p) for p in ordered]
        replies = session.watch_and_ask(sorted({p[0] for p in ordered}), asks)
        found = {p: None if r is None else r.decode(errors="replace") for p, r in zip(ordered, replies, strict=True)}
        seen |= found
        if any(found.get(plan.place(e)) not in (None, e[-1]) for work in works for e in _claiming(work.add)):
            works = read()
    added = {plan.place(e) for work in works for e in _claiming(work.add)}
    return [
        work._replace(remove=[e for e in work.remove if not isinstance(e, Claim) or _is_own(e, seen, added)])
        for work in works
    ]


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
        commands.append(_remember([change.id for change in work.changes]))
    feed = shape.mirror.feed()
    length = int(setting("FEED_LENGTH"))
    commands += [("XADD", feed, "MAXLEN", "~", length, "*", "d", news) for news in work.feed]
    return commands


def _remember(changes: Sequence[int]) -> Command:
    return rewind.remember(marker.database_identity(), changes)
