"""The two protocols by which a drain writes: a transaction on one Redis, and fences on a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from redis.exceptions import RedisError

from mirror.comparison import plan
from mirror.conf import setting
from mirror.declare.entries import Contribution, Field, OwnField, Value
from mirror.kinds import Kind
from mirror.outbox import changes as outbox
from mirror.outbox.identity import database_identity
from mirror.redis.session import Command, Session
from mirror.relay import fenced
from mirror.relay.work import Part, Staged, Work
from mirror.warm import rewind

Claim = Field | Value  # the place of these entries can pass from one row to another


class Protocol(ABC):
    """One attempt to write: ``begin``, ``settle``, ``post`` and ``collect``, in this order. All may raise Conflict."""

    staged: Staged = None

    @abstractmethod
    def begin(self) -> list[Sequence[Any]]:
        """Guard the rows against other drains from now on. Return their states, by part."""

    @abstractmethod
    def settle(self, works: list[Work], read: Callable[[], list[Work]]) -> list[Work]:
        """Settle which row owns each place that passes from one row to another. ``read`` reads SQL once more."""

    @abstractmethod
    def post(self, works: list[Work]) -> None:
        """Send the write, which Redis executes in the background."""

    @abstractmethod
    def collect(self) -> None:
        """Wait for the write."""

    @abstractmethod
    def release(self) -> None:
        """Give the rows up, of which none has to be written."""


class OneRedis(Protocol):
    """Writing on one Redis: WATCH, and one transaction."""

    def __init__(self, session: Session, parts: Sequence[Part]) -> None:
        self.session, self.parts = session, parts

    def begin(self) -> list[Sequence[Any]]:
        return _watch_and_read(self.session, self.parts)

    def settle(self, works: list[Work], read: Callable[[], list[Work]]) -> list[Work]:
        return _settle_claims(self.session, works, read)

    def post(self, works: list[Work]) -> None:
        pairs = zip(self.parts, works, strict=True)
        self.session.post_transaction([command for part, work in pairs for command in _commands(part.kind, work)])

    def collect(self) -> None:
        self.session.collect_transaction()

    def release(self) -> None:
        """Do nothing: the session ends the watches."""


class Cluster(Protocol):
    """Writing on a cluster (``mirror.relay.fenced``).

    is_forced: do not wait for drains of the same rows that have begun a moment ago.
    """

    def __init__(self, session: Session, parts: Sequence[Part], is_forced: bool) -> None:
        self.parts = parts
        self.fences = fenced.Fences(session, parts, is_forced=is_forced)
        self.staged = self.fences.staged

    def begin(self) -> list[Sequence[Any]]:
        return self.fences.begin()

    def settle(self, works: list[Work], read: Callable[[], list[Work]]) -> list[Work]:
        newest = works

        def read_again() -> fenced.Works:
            nonlocal newest
            newest = read()
            return self._by_row(newest)

        self.fences.claim(self._by_row(works), read_again)
        return newest

    def post(self, works: list[Work]) -> None:
        changes = [change.id for work in works for change in work.changes]
        try:
            self.fences.post(self._by_row(works), [remember_changes(changes)] if changes else [])
        except RedisError:
            outbox.mark_incomplete(changes)
            raise

    def collect(self) -> None:
        self.fences.collect()

    def release(self) -> None:
        self.fences.release()

    def _by_row(self, works: list[Work]) -> fenced.Works:
        return [(part.kind, work.by_row) for part, work in zip(self.parts, works, strict=True)]


def protocol_of(session: Session, parts: Sequence[Part], *, is_forced: bool) -> Protocol:
    """Return the protocol for the server of this session."""
    return Cluster(session, parts, is_forced) if session.of_cluster else OneRedis(session, parts)


def _watch_and_read(session: Session, parts: Sequence[Part]) -> list[Sequence[Any]]:
    """Watch the rows' own keys and read their states, by part, in one round trip."""
    asks = [part.kind.ask(part.pks) for part in parts]
    keys = [key for part in parts for key in part.kind.watches(part.pks)]
    replies = iter(session.watch_and_ask(keys, list(chain.from_iterable(asks))))
    return [
        part.kind.read_states(part.pks, list(islice(replies, len(ask)))) for part, ask in zip(parts, asks, strict=True)
    ]


def _settle_claims(session: Session, works: list[Work], read: Callable[[], list[Work]]) -> list[Work]:
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


def _claims(work: Work) -> set[tuple[str, ...]]:
    return {plan.place(e) for entries in (work.add, work.remove) for e in _claiming(entries)}


def _claiming(entries: Iterable[Contribution]) -> Iterator[Claim]:
    return (entry for entry in entries if isinstance(entry, Claim) and not isinstance(entry, OwnField))


def _is_own(entry: Claim, seen: dict[tuple[str, ...], str | None], added: set[tuple[str, ...]]) -> bool:
    place = plan.place(entry)
    return place not in added and (isinstance(entry, OwnField) or seen[place] == entry[-1])


def _commands(kind: Kind, work: Work) -> list[Command]:
    commands = kind.write(work.owns) + plan.commands(work.remove, work.add)
    commands += kind.mirror.extra_commands(work.owns)
    if work.changes:
        commands.append(remember_changes([change.id for change in work.changes]))
    feed = kind.mirror.feed()
    length = int(setting("FEED_LENGTH"))
    commands += [("XADD", feed, "MAXLEN", "~", length, "*", "d", entry) for entry in work.feed]
    return commands


def remember_changes(changes: Sequence[int]) -> Command:
    return rewind.remember(database_identity(), changes)
