"""Drains on a Redis Cluster, where no transaction reaches a record and its entries in other slots.

A drain takes the place of WATCH and MULTI by *fences*: keys that hold its token, one for each row in each slot that
it writes. Scripts check them, so a drain that was paused cannot undo the work of a newer one. The steps, each of which
is one round trip:

1. *Begin*: a script in each row's own slot sets the row's fence, and returns its record and its staged entries.
2. (SQL is read, as on one Redis.)
3. *Claim*: set fences in the other slots of all entries: of the record, the staged ones, and the new ones.
4. *Stage*: if the row's own fence still holds the token, save the new entries beside the record.
5. *Entries*: in each other slot, if the fences there hold the token, remove and add entries.
6. *Finish*: if the row's own fence still holds the token, write the record and the entries in its slot, and delete
   what was staged.

Rows whose entries in other slots do not change skip steps 3 to 5. It is correct for these reasons:

- The newest data wins: a drain reads SQL after step 1, and step 6 succeeds only if none began in between.
- A paused drain changes nothing. The newer one has begun, so steps 4 and 6 are refused. If step 4 succeeded before,
  the newer drain has seen the staged entries. It claims every slot that they, the record or its own entries name, and
  writes all its entries, whatever the record says. A claim that comes late only makes the newer drain start over.
- A crash leaves no stray, because the record and the staged entries name all entries that may have been written.
- A place that passes from one row to another (a name) has a fence of its own, and SQL is read again if another row has
  the place when it is claimed.
- A fence may vanish at any time: without it, its drain is refused. So fences expire, and nothing has to sweep them.
- A connection writes only to servers of the incarnation in which it began (``mirror.cluster.client``). A replica that
  takes over may lack fences, so a drain from before cannot reach it. After that every mirror is rebuilt.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from redis.exceptions import RedisError

from mirror.comparison import plan
from mirror.conf import setting
from mirror.declare.entries import Contribution, Entry, Field, OwnField, Value, single
from mirror.kinds import Kind, Stored
from mirror.redis import naming
from mirror.redis.keys.slots import find_slot
from mirror.redis.scripts import Script
from mirror.redis.session import Command, Conflict, Session
from mirror.relay.work import RowWork

LIFE: Final = 60_000  # milliseconds that a drain may take
RESPECTED: Final = 1_000  # milliseconds for which other drains wait for one that has begun, on their first attempts

_HERE: Final = Path(__file__).parent
begin_script: Final = Script(_HERE / "fenced_begin.lua")
claim_script: Final = Script(_HERE / "fenced_claim.lua")
write_script: Final = Script(_HERE / "fenced.lua")

Place = tuple[str, ...]


Works = Sequence[tuple[Kind, Mapping[str, RowWork]]]  # by row, for each mirror


class _Row(NamedTuple):
    """A row of a mirror. slot: the one of its own key."""

    mirror: str
    pk: str
    slot: int

    def fence(self, slot: int) -> str:
        """Return the row's fence in a slot."""
        return naming.row_fence(slot, self.mirror, self.pk)

    @property
    def staged(self) -> str:
        """The key of the staged entries."""
        return naming.staged(self.slot, self.mirror, self.pk)


class _Writes:
    """The fences that must hold in a slot, and the commands that are executed there."""

    def __init__(self) -> None:
        self.fences: dict[str, None] = {}  # of rows
        self.places: dict[str, None] = {}  # fences of places that pass from one row to another
        self.conditions: list[Command] = []
        self.remove: list[Entry] = []
        self.add: list[Entry] = []
        self.others: list[Command] = []

    def merge(self, other: "_Writes") -> None:
        """Add the writes of another row to the same slot."""
        self.fences |= other.fences
        self.places |= other.places
        self.conditions += other.conditions
        self.remove += other.remove
        self.add += other.add
        self.others += other.others

    def call(self, token: str, *, finish: bool) -> Command:
        """Return the call of the script. finish: delete the fences of the rows afterwards."""
        commands = self._list_commands()
        keys = [*self.fences, *self.places]
        args: list[Any] = [len(keys), token, len(self.fences) if finish else 0]
        for name, key, *words in commands:
            keys.append(key)
            args += (name, len(words))
            args += words
        return write_script.command(keys, args)

    def _list_commands(self) -> list[Command]:
        added = {plan.place(entry) for entry in self.add if _is_claim(entry)}
        plain: list[Entry] = []
        commands = list(self.conditions)
        for entry in self.remove:
            if not _is_claim(entry):
                plain.append(entry)
            elif plan.place(entry) not in added:
                # TAKE removes a place only if it still has the value of this row: it may have passed to another one.
                commands.append(("TAKE", *entry))
        for command in plan.commands(plain, self.add) + self.others:
            if command[0] == "MSET":  # the script takes commands with one key each
                commands += (("SET", *command[at : at + 2]) for at in range(1, len(command), 2))
            else:
                commands.append(command)
        return commands


class Fences:
    """The fences of one attempt to drain rows of several mirrors.

    staged: by mirror and row, the entries that an unfinished drain may have written, or None if there was none.
    is_forced: whether fences of other drains are taken although they are fresh.
    """

    def __init__(self, session: Session, parts: Iterable[tuple[Kind, Sequence[str]]], *, is_forced: bool) -> None:
        self.session = session
        self.token = uuid.uuid4().hex
        self.parts = list(parts)
        self.staged: dict[tuple[str, str], list[Entry] | None] = {}
        self._respected = 0 if is_forced else RESPECTED
        self._rows: dict[tuple[str, str], _Row] = {}
        for kind, pks in self.parts:
            for row in _list_rows(kind, pks):
                self._rows[row.mirror, row.pk] = row
        self._claimed: set[str] = set()  # fences
        self._values: dict[Place, str | None] = {}  # of claimed places

    def begin(self) -> list[Sequence[Stored]]:
        """Set the rows' own fences and read their states, by part. Raises Conflict if another drain has begun."""
        asked = {(row.mirror, row.pk): kind.ask([row.pk]) for kind, row in self._list_all()}
        replies = self.session.ask([self._begin_call(row, asked[key]) for key, row in self._rows.items()])
        if 0 in replies:
            self.release()
            raise Conflict
        by_row = dict(zip(self._rows, replies, strict=True))
        states: dict[tuple[str, str], Stored] = {}
        for kind, row in self._list_all():
            key = row.mirror, row.pk
            staged, reply = by_row[key]
            # A kind without a state of its own asks nothing, and the script then returns an empty reply.
            (states[key],) = kind.read_states([row.pk], [reply] if asked[key] else [])
            self.staged[key] = None if staged is None else [plan.from_list(parts) for parts in orjson.loads(staged)]
        return [[states[kind.mirror.name, pk] for pk in pks] for kind, pks in self.parts]

    def _list_all(self) -> Iterator[tuple[Kind, _Row]]:
        for kind, pks in self.parts:
            for pk in dict.fromkeys(pks):
                yield kind, self._rows[kind.mirror.name, pk]

    def _begin_call(self, row: _Row, ask: Sequence[Command]) -> Command:
        keys = [row.fence(row.slot), row.staged]
        args: list[Any] = [self.token, LIFE, self._respected]
        for name, key, *words in ask:
            keys.append(key)
            args += [name, *words]
        return begin_script.command(keys, args)

    def claim(self, works: Works, read: Callable[[], Works]) -> Works:
        """Set the fences in other slots. Return the works, of newer data where another row had one of the places.

        Raises Conflict if another drain has begun since.
        """
        while todo := self._find_unclaimed(works):
            places = self._claim_all(todo)
            # Another row had the place when it was claimed, so SQL may be newer than what was read.
            if self._has_other_value(works, places):
                works = read()
        return works

    def _claim_all(self, todo: Mapping[int, tuple[list[str], list[Place]]]) -> set[Place]:
        """Claim these fences and places, and remember the values of the places. Return the places."""
        calls: list[Command] = []
        claimed: list[Place] = []
        for fences, places in todo.values():
            keys = fences + [_place_fence(place) for place in places]
            structures = [place[0] for place in places]
            fields = [place[1] if len(place) > 1 else "" for place in places]
            calls.append(claim_script.command(keys + structures, [len(keys), self.token, LIFE, *fields]))
            self._claimed.update(keys)
            claimed += places
        values: list[bytes | None] = []
        for reply in self.session.ask(calls):
            values += reply
        for place, value in zip(claimed, values, strict=True):
            self._values[place] = None if value is None else value.decode(errors="replace")
        return set(claimed)

    def _has_other_value(self, works: Works, places: Collection[Place]) -> bool:
        """Return whether another row has one of these places, where a row of the works is to be written."""
        for work in _list_works(works):
            for entry in single(work.add):
                if not _is_claim(entry):
                    continue
                place = plan.place(entry)
                if place in places and self._values[place] not in (None, entry[-1]):
                    return True
        return False

    def _find_unclaimed(self, works: Works) -> dict[int, tuple[list[str], list[Place]]]:
        """Return the fences of rows and the places, by slot, that are not claimed yet."""
        todo: dict[int, tuple[list[str], list[Place]]] = defaultdict(lambda: ([], []))
        for (row, _), writes in self._list_writes(works):
            for slot in writes:
                fence = row.fence(slot)
                if slot != row.slot and fence not in self._claimed:
                    todo[slot][0].append(fence)
        places: set[Place] = set()
        for work in _list_works(works):
            places.update(plan.place(entry) for entry in _list_claims(work))
        for place in sorted(places - self._values.keys()):
            todo[find_slot(place[0])][1].append(place)
        return todo

    def _list_writes(self, works: Works) -> Iterator[tuple[tuple[_Row, RowWork], dict[int, _Writes]]]:
        """Yield each row with what is written in each slot that it reaches."""
        for kind, rows in works:
            for pk, work in rows.items():
                row = self._rows[kind.mirror.name, pk]
                yield (row, work), _divide(kind, row, work)

    def post(self, works: Works, others: Sequence[Command]) -> None:
        """Stage and write the entries in other slots, then send the rest. ``collect`` returns when it is done.

        others: commands that are sent with the rest. Raises Conflict if another drain has begun since.
        """
        kinds = {kind.mirror.name: kind for kind, _ in works}
        stages: list[Command] = []
        elsewhere: dict[int, _Writes] = defaultdict(_Writes)
        rest: list[Command] = []
        for (row, work), writes in self._list_writes(works):
            own = writes.pop(row.slot, _Writes())
            own.fences[row.fence(row.slot)] = None
            if writes:
                stages.append(self._stage_call(row, writes.values()))
            for slot, of_slot in writes.items():
                elsewhere[slot].merge(of_slot)
            kind = kinds[row.mirror]
            own.conditions = kind.conditions(row.pk, work.before)
            own.others += kind.finish({row.pk: work.own})
            own.others.append(("DEL", row.staged))
            rest.append(own.call(self.token, finish=True))
        # One round trip after the other: an entry in another slot that nothing names would be a stray after a crash.
        self._ask_or_conflict(stages)
        self._ask_or_conflict([of_slot.call(self.token, finish=True) for of_slot in elsewhere.values()])
        self._expected = len(rest)
        self.session.post([*rest, *others])

    def _ask_or_conflict(self, calls: Sequence[Command]) -> None:
        if calls and 0 in self.session.ask(calls):
            self.release()
            raise Conflict

    def _stage_call(self, row: _Row, writes: Iterable[_Writes]) -> Command:
        # With those that an unfinished drain has staged: they may be in Redis, and only this list names them.
        entries = dict.fromkeys(self.staged.get((row.mirror, row.pk)) or ())
        for of_slot in writes:
            entries.update(dict.fromkeys(of_slot.add))
        stage = _Writes()
        stage.fences[row.fence(row.slot)] = None
        stage.others = [("SET", row.staged, orjson.dumps([plan.as_list(entry) for entry in entries]))]
        return stage.call(self.token, finish=False)

    def collect(self) -> None:
        """Wait until all is written. Raises Conflict if another drain has begun since, and redis-py's errors."""
        if 0 in self.session.collect()[: self._expected]:
            self.release()
            raise Conflict

    def release(self) -> None:
        """Delete the rows' own fences, so that other drains need not wait."""
        calls = [write_script.command([row.fence(row.slot)], [1, self.token, 1]) for row in self._rows.values()]
        with suppress(RedisError):  # they also expire
            self.session.ask(calls)


def _list_rows(kind: Kind, pks: Sequence[str]) -> list[_Row]:
    return [_Row(kind.mirror.name, pk, find_slot(kind.home(pk))) for pk in dict.fromkeys(pks)]


def _place_fence(place: Place) -> str:
    return naming.row_fence(find_slot(place[0]), "", "\0".join(place))


def _is_claim(entry: Contribution) -> bool:
    return isinstance(entry, Field | Value) and not isinstance(entry, OwnField)


def _list_works(works: Works) -> Iterator[RowWork]:
    for _, rows in works:
        yield from rows.values()


def _list_claims(work: RowWork) -> Iterator[Entry]:
    """Yield the entries of a row that remove or take a place."""
    for entries in (work.remove, work.add):
        for entry in single(entries):
            if _is_claim(entry):
                yield entry


def _divide(kind: Kind, row: _Row, work: RowWork) -> dict[int, _Writes]:
    """Return what is written for a row, by slot."""
    writes: dict[int, _Writes] = defaultdict(_Writes)
    for entry in single(work.reach):
        slot = find_slot(entry[0])
        writes[slot].fences[row.fence(slot)] = None
    for entry in work.remove:
        writes[find_slot(entry[0])].remove.append(entry)
    for entry in single(work.add):
        writes[find_slot(entry[0])].add.append(entry)
    for command in kind.mirror.extra_commands({row.pk: work.own}):
        writes[find_slot(command[1])].others.append(command)
    _add_feed(kind, work, writes)
    for slot, of_slot in writes.items():
        of_slot.fences[row.fence(slot)] = None
        for entry in (*of_slot.remove, *of_slot.add):
            if _is_claim(entry):
                of_slot.places[_place_fence(plan.place(entry))] = None
    return writes


def _add_feed(kind: Kind, work: RowWork, writes: dict[int, _Writes]) -> None:
    feed = kind.mirror.feed()
    if feed is None or (work.feed_entry is None and not work.reach):
        return
    of_feed = writes[find_slot(feed)]  # also without an entry: the fence in its slot keeps the order of a row's entries
    if work.feed_entry is not None:
        length = int(setting("FEED_LENGTH"))
        of_feed.others.append(("XADD", feed, "MAXLEN", "~", length, "*", "d", work.feed_entry))
