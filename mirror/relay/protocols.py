"""The two protocols by which a drain writes: a transaction on one Redis, and fences on a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

from redis.exceptions import RedisError

from mirror.comparison import plan
from mirror.conf import setting
from mirror.declare.entries import Entry, OwnField
from mirror.kinds import Kind
from mirror.outbox import changes as outbox
from mirror.outbox.identity import database_identity
from mirror.redis.session import Command, Session
from mirror.relay import fenced
from mirror.relay.places import Claim, Place, Values, decode_value, find_places, has_other_value
from mirror.relay.work import Part, Staged, Work
from mirror.warm import rewind


class Protocol(ABC):
    """One attempt to write: ``begin``, ``settle``, ``post`` and ``collect``, in this order. All may raise Conflict."""

    # One Redis needs none: a transaction writes the records and their entries together.
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
        commands: list[Command] = []
        for part, work in zip(self.parts, works, strict=True):
            commands += _list_commands(part.kind, work)
        self.session.post_transaction(commands)

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
        # ``claim`` may read SQL again. The works of the last reading count.
        newest = works

        def read_again() -> fenced.Works:
            nonlocal newest
            newest = read()
            return self._by_row(newest)

        self.fences.claim(self._by_row(works), read_again)
        return newest

    def post(self, works: list[Work]) -> None:
        changes: list[int] = []
        for work in works:
            changes += [change.id for change in work.changes]
        others = [remember_changes(changes)] if changes else []
        try:
            self.fences.post(self._by_row(works), others)
        except RedisError:
            # Some slots may have been written and others not. The next drain then writes every entry.
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
    keys: list[str] = []
    commands: list[Command] = []
    counts: list[int] = []
    for part in parts:
        asked = part.kind.ask(part.pks)
        keys += part.kind.watches(part.pks)
        commands += asked
        counts.append(len(asked))
    replies = iter(session.watch_and_ask(keys, commands))
    states: list[Sequence[Any]] = []
    for part, count in zip(parts, counts, strict=True):
        own_replies = list(islice(replies, count))
        states.append(part.kind.read_states(part.pks, own_replies))
    return states


def _settle_claims(session: Session, works: list[Work], read: Callable[[], list[Work]]) -> list[Work]:
    """Settle which row owns a place that passes from one row to another (a name): remove only values of this row.

    The places are watched and read. If one that this drain wants to write holds another row's value, SQL is read
    once more. From then on the WATCH notices any change of the place.
    """
    seen: dict[Place, str | None] = {}
    while places := _find_all_places(works) - seen.keys():
        found = _watch_places(session, sorted(places))
        seen |= found
        if any(has_other_value(work.add, found) for work in works):
            works = read()
    added: set[Place] = set()
    for work in works:
        added |= find_places(work.add)
    settled: list[Work] = []
    for work in works:
        remove = [entry for entry in work.remove if _may_remove(entry, seen, added)]
        settled.append(work._replace(remove=remove))
    return settled


def _find_all_places(works: Sequence[Work]) -> set[Place]:
    """Return the places that these works remove or take."""
    places: set[Place] = set()
    for work in works:
        places |= find_places(work.add)
        places |= find_places(work.remove)
    return places


def _watch_places(session: Session, places: Sequence[Place]) -> dict[Place, str | None]:
    """Watch these places and return their values."""
    structures = sorted({place[0] for place in places})
    commands: list[Command] = []
    for place in places:
        name = "GET" if len(place) == 1 else "HGET"
        commands.append((name, *place))
    replies = session.watch_and_ask(structures, commands)
    return dict(zip(places, map(decode_value, replies), strict=True))


def _may_remove(entry: Entry, seen: Values, added: Collection[Place]) -> bool:
    """Return whether an entry is still the row's own one, and no row of this drain takes its place."""
    if not isinstance(entry, Claim):
        return True
    place = plan.place(entry)
    # Another row of this drain takes the place, and its value replaces this one.
    if place in added:
        return False
    # No other row writes an ``OwnField``, so its value is not read.
    return isinstance(entry, OwnField) or seen[place] == entry[-1]


def _list_commands(kind: Kind, work: Work) -> list[Command]:
    """Return the commands of the transaction for one mirror."""
    # The own keys always: a write breaks the WATCH of other drains, also if it changes nothing.
    commands = kind.write(work.owns)
    commands += plan.commands(work.remove, work.add)
    commands += kind.mirror.extra_commands(work.owns)
    if work.changes:
        # In the transaction of the entries: Redis then never has data whose change it does not remember.
        commands.append(remember_changes([change.id for change in work.changes]))
    feed = kind.mirror.feed()
    # The length is approximate ("~"), which costs Redis less.
    length = int(setting("FEED_LENGTH"))
    for entry in work.feed:
        commands.append(("XADD", feed, "MAXLEN", "~", length, "*", "d", entry))
    return commands


def remember_changes(changes: Sequence[int]) -> Command:
    """Return the command by which Redis remembers that it has these changes."""
    return rewind.remember(database_identity(), changes)
