"""Draining keys: the one place where mirrored entries are written.

The order is what makes it right, and no step may be moved:

1. Redis: WATCH the rows' own keys and read what they say.
2. SQL: the ids of the pending changes, and only then the rows.
3. Redis: MULTI: own keys (always written, or WATCH protects nobody), entries to take away and to add; EXEC.
4. SQL: mark exactly those ids as applied (and order what comes after them: ``mirror.chains``).

A crash between any two steps leaves the ids pending, and doing it again is harmless. Whoever wrote in between
makes EXEC fail, and then it starts over from newer rows. So between WATCH and EXEC of one drain no other drain
of that row has written, which puts all of them in one order, and SQL is read later by each than by the one
before. The ids are read before the rows: a change whose id was seen is in the rows; one that was committed in
between stays pending and is drained again. Both in one statement would be the same at the price of every
``load`` being one statement.
"""

import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from mirror import chains, outbox, plan, tables
from mirror.conf import setting
from mirror.declare import Mirror, TableMirror
from mirror.entries import Contribution, Entry, Field, OwnField, Value
from mirror.redis import RedisError, relay_client
from mirror.session import Command, Conflict, Session
from mirror.shapes import ABSENT, JsonShape, shape_of

TRIES = 20
Step = Callable[[str], object]
Claim = Field | Value  # what rows may take over from one another


def no_step(name: str) -> None:
    """Nothing happens between the steps (tests stop a drain here)."""


class Drained(NamedTuple):
    """What a drain did: rows written, changes marked."""

    rows: int
    changes: int


Flight = Generator[None, None, Drained]


class _Work(NamedTuple):
    """One try at a batch: what it read, and what it is going to write."""

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
    redis: Any = None,
    full: bool = False,
    step: Step = no_step,
    tries: int = TRIES,
    shape: JsonShape | None = None,
) -> Drained:
    """Make Redis say of these rows what SQL says, and mark their changes as applied.

    full: write every entry again, not only the difference to what the record said before, and leave the
    feed alone (rebuild). ``step`` is called with the name of each step before it. shape: another than the mirror's.
    Raises Conflict when others were in the way again and again, redis-py's errors when Redis is away,
    ProgrammingError inside a transaction, and whatever the declaration raises.
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
    redis: Any = None,
    full: bool = False,
    step: Step = no_step,
    shape: JsonShape | None = None,
) -> Flight:
    """The first half of one try: all up to sending what is to be written. Redis works on it meanwhile.

    ``land`` is the second half. A flight that is dropped leaves its changes pending. Raises as ``drain``.
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
    """The second half: see what became of the write, and mark the changes. Raises Conflict: nothing was written."""
    try:
        next(flight)
    except StopIteration as stop:
        drained: Drained = stop.value
        return drained
    raise AssertionError("a flight has two halves")


def _fly_within_sql(mirror: TableMirror, pks: Sequence[str]) -> Flight:
    yield
    return Drained(len(pks), tables.replace_rows(mirror, pks))


def _fly(shape: JsonShape, pks: Sequence[str], redis: Any, full: bool, step: Step) -> Flight:
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
    """See what became of the write. Of a transaction in which a command fails, Redis carries out the others: the
    record may be there and an entry not, and the next try must not believe the record.
    """
    try:
        session.collect_transaction()
    except RedisError:
        outbox.write_anew([change.id for change in work.changes])
        raise


def _work(shape: JsonShape, pks: Sequence[str], said: Sequence[Any], full: bool) -> _Work:
    """Read SQL (ids first, then rows) and work out the difference."""
    pending = shape.pending(pks)
    if shape.sums_up and not pending and not full:  # another drain has done it for all
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
            if not anew and before is not None:  # else nothing that was said can be trusted to be there
                add = changed
        work.remove.extend(remove)
        work.add.extend(add)
        if feed and (remove or add):
            work.feed.append(plan.news(remove, add))
    return work


def _accounted(shape: JsonShape, pk: str, said: Any) -> list[Contribution]:
    """The entries that what Redis says accounts for; none if it cannot be read (verify finds the rest)."""
    try:
        return list(shape.before(pk, said))
    except Exception:  # a record of another layout, or of another hand, may raise anything
        return []


def _settle_claims(
    session: Session, shape: JsonShape, pks: Sequence[str], said: Sequence[Any], full: bool, work: _Work
) -> _Work:
    """Entries that rows take over from one another (a name): take away only what still is one's own.

    The places are watched and read; if another row's value is found where this one wants to write, SQL
    is asked once more, now that nobody can change the place unnoticed.
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
    feed = shape.mirror.feed()
    length = int(setting("FEED_LENGTH"))
    commands += [("XADD", feed, "MAXLEN", "~", length, "*", "d", news) for news in work.feed]
    return commands
