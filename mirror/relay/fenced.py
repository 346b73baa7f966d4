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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from redis.exceptions import RedisError

from mirror.comparison import plan
from mirror.conf import setting
from mirror.declare.entries import Entry, single
from mirror.kinds import Kind, Stored
from mirror.redis import naming
from mirror.redis.keys.slots import find_slot
from mirror.redis.scripts import Script
from mirror.redis.session import Command, Conflict, Session
from mirror.relay.places import Place, decode_value, find_places, has_other_value, is_claim
from mirror.relay.work import RowWork

LIFE: Final = 60_000  # milliseconds that a drain may take
RESPECTED: Final = 1_000  # milliseconds for which other drains wait for one that has begun, on their first attempts

_HERE: Final = Path(__file__).parent
begin_script: Final = Script(_HERE / "fenced_begin.lua")
claim_script: Final = Script(_HERE / "fenced_claim.lua")
write_script: Final = Script(_HERE / "fenced.lua")

RowName = tuple[str, str]  # the mirror's name, the row's key
Works = Sequence[tuple[Kind, Mapping[str, RowWork]]]  # by row, for each mirror


class _Row(NamedTuple):
    """A row of a mirror. slot: the one of its own key."""

    mirror: str
    pk: str
    slot: int

    @property
    def name(self) -> RowName:
        """The row among those of all mirrors."""
        return self.mirror, self.pk

    @property
    def own_fence(self) -> str:
        """The row's fence in its own slot."""
        return self.fence(self.slot)

    @property
    def staged(self) -> str:
        """The key of the staged entries."""
        return naming.staged(self.slot, self.mirror, self.pk)

    def fence(self, slot: int) -> str:
        """Return the row's fence in a slot."""
        return naming.row_fence(slot, self.mirror, self.pk)


class _Unclaimed:
    """What a drain has to claim in one slot: fences of rows, and places."""

    def __init__(self) -> None:
        self.fences: list[str] = []
        self.places: list[Place] = []

    def list_fences(self) -> list[str]:
        """Return all fences: those of rows, then those of the places."""
        return self.fences + [_place_fence(place) for place in self.places]

    def call(self, token: str) -> Command:
        """Return the call of the script, which replies with the values of the places."""
        keys = self.list_fences()
        args: list[Any] = [len(keys), token, LIFE]
        for place in self.places:
            structure, field = place if len(place) > 1 else (place[0], "")
            keys.append(structure)
            args.append(field)
        return claim_script.command(keys, args)


class _Writes:
    """The fences that must hold in a slot, and the commands that are executed there."""

    def __init__(self) -> None:
        # Dictionaries as ordered sets. The fences of rows come first in a call, which deletes the first ones.
        self.fences: dict[str, None] = {}  # of rows
        self.places: dict[str, None] = {}  # fences of places that pass from one row to another
        self.conditions: list[Command] = []
        self.remove: list[Entry] = []
        self.add: list[Entry] = []
        self.others: list[Command] = []

    def hold(self, fence: str) -> None:
        """Refuse the writes if this fence of a row no longer holds."""
        self.fences[fence] = None

    def hold_places(self) -> None:
        """Refuse the writes if another drain has claimed one of their places."""
        for place in find_places(self.remove + self.add):
            self.places[_place_fence(place)] = None

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
        keys = list(self.fences)
        keys += self.places
        deleted_fences = len(self.fences) if finish else 0
        args: list[Any] = [len(keys), token, deleted_fences]
        for name, key, *words in commands:
            keys.append(key)
            args += (name, len(words))
            args += words
        return write_script.command(keys, args)

    def _list_commands(self) -> list[Command]:
        commands = list(self.conditions)
        added = find_places(self.add)
        plain: list[Entry] = []
        for entry in self.remove:
            if not is_claim(entry):
                plain.append(entry)
            elif plan.place(entry) not in added:
                # TAKE removes a place only if it still has the value of this row: it may have passed to another one.
                commands.append(("TAKE", *entry))
        for command in plan.commands(plain, self.add):
            commands += _split_keys(command)
        for command in self.others:
            commands += _split_keys(command)
        return commands


class _RowWrites(NamedTuple):
    """What a drain writes for one row in each slot that the row reaches."""

    kind: Kind
    row: _Row
    work: RowWork
    by_slot: dict[int, _Writes]


class Fences:
    """The fences of one attempt to drain rows of several mirrors.

    staged: by mirror and row, the entries that an unfinished drain may have written, or None if there was none.
    is_forced: whether fences of other drains are taken although they are fresh.
    """

    def __init__(self, session: Session, parts: Iterable[tuple[Kind, Sequence[str]]], *, is_forced: bool) -> None:
        self.session = session
        self.token = uuid.uuid4().hex
        self.parts = list(parts)
        self.staged: dict[RowName, list[Entry] | None] = {}
        self._respected = 0 if is_forced else RESPECTED
        self._rows: dict[RowName, _Row] = {}
        for kind, pks in self.parts:
            for row in _list_rows(kind, pks):
                self._rows[row.name] = row
        self._claimed: set[str] = set()  # fences
        self._values: dict[Place, str | None] = {}  # of claimed places

    def begin(self) -> list[Sequence[Stored]]:
        """Set the rows' own fences and read their states, by part. Raises Conflict if another drain has begun."""
        asked = {row.name: kind.ask([row.pk]) for kind, row in self._list_all()}
        calls = [self._begin_call(row, asked[name]) for name, row in self._rows.items()]
        replies = self.session.ask(calls)
        if 0 in replies:
            # Fences that were set beside the refused one would delay other drains of their rows.
            self.release()
            raise Conflict
        by_row = dict(zip(self._rows, replies, strict=True))
        states: dict[RowName, Stored] = {}
        for kind, row in self._list_all():
            staged, reply = by_row[row.name]
            # A kind without a state of its own asks nothing, and the script then returns an empty reply.
            own_replies = [reply] if asked[row.name] else []
            (states[row.name],) = kind.read_states([row.pk], own_replies)
            self.staged[row.name] = _decode_staged(staged)
        return [[states[kind.mirror.name, pk] for pk in pks] for kind, pks in self.parts]

    def _list_all(self) -> Iterator[tuple[Kind, _Row]]:
        for kind, pks in self.parts:
            for pk in dict.fromkeys(pks):
                yield kind, self._rows[kind.mirror.name, pk]

    def _begin_call(self, row: _Row, ask: Sequence[Command]) -> Command:
        keys = [row.own_fence, row.staged]
        args: list[Any] = [self.token, LIFE, self._respected]
        for name, key, *words in ask:
            keys.append(key)
            args.append(name)
            args += words
        return begin_script.command(keys, args)

    def claim(self, works: Works, read: Callable[[], Works]) -> Works:
        """Set the fences in other slots. Return the works, of newer data where another row had one of the places.

        Raises Conflict if another drain has begun since.
        """
        # Newer works may reach further slots and places, so this ends when nothing is left to claim.
        while unclaimed := self._find_unclaimed(works):
            found = self._claim_all(unclaimed.values())
            # Another row had the place when it was claimed, so SQL may be newer than what was read.
            if any(has_other_value(single(work.add), found) for work in _list_works(works)):
                works = read()
        return works

    def _find_unclaimed(self, works: Works) -> dict[int, _Unclaimed]:
        """Return the fences of rows and the places, by slot, that are not claimed yet."""
        unclaimed: dict[int, _Unclaimed] = defaultdict(_Unclaimed)
        for _, row, _, by_slot in self._list_writes(works):
            for slot in by_slot:
                fence = row.fence(slot)
                # The fence in the row's own slot was set when the drain began.
                if slot != row.slot and fence not in self._claimed:
                    unclaimed[slot].fences.append(fence)
        places: set[Place] = set()
        for work in _list_works(works):
            places |= find_places(work.remove)
            places |= find_places(work.add)
        for place in sorted(places - self._values.keys()):
            slot = find_slot(place[0])
            unclaimed[slot].places.append(place)
        return unclaimed

    def _claim_all(self, unclaimed: Iterable[_Unclaimed]) -> dict[Place, str | None]:
        """Claim these fences and places. Return the values that the places had, which are remembered as well."""
        calls: list[Command] = []
        places: list[Place] = []
        for of_slot in unclaimed:
            calls.append(of_slot.call(self.token))
            places += of_slot.places
            self._claimed.update(of_slot.list_fences())
        values: list[str | None] = []
        for reply in self.session.ask(calls):
            values += map(decode_value, reply)
        found = dict(zip(places, values, strict=True))
        self._values |= found
        return found

    def _list_writes(self, works: Works) -> Iterator[_RowWrites]:
        for kind, rows in works:
            for pk, work in rows.items():
                row = self._rows[kind.mirror.name, pk]
                yield _RowWrites(kind, row, work, _divide_by_slot(kind, row, work))

    def post(self, works: Works, others: Sequence[Command]) -> None:
        """Stage and write the entries in other slots, then send the rest. ``collect`` returns when it is done.

        others: commands that are sent with the rest. Raises Conflict if another drain has begun since.
        """
        stages: list[Command] = []
        elsewhere: dict[int, _Writes] = defaultdict(_Writes)
        rest: list[Command] = []
        for kind, row, work, by_slot in self._list_writes(works):
            # The record is written last: until then the staged entries name what may be in other slots.
            own = by_slot.pop(row.slot, _Writes())
            if by_slot:
                stages.append(self._stage_call(row, by_slot.values()))
            # A slot gets one call for all rows of the drain.
            for slot, of_slot in by_slot.items():
                elsewhere[slot].merge(of_slot)
            rest.append(self._finish_call(kind, row, work, own))
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
        """Return the call that saves the new entries in other slots beside the record."""
        # With those that an unfinished drain has staged: they may be in Redis, and only this list names them.
        unfinished = self.staged.get(row.name) or ()
        entries: dict[Entry, None] = dict.fromkeys(unfinished)
        for of_slot in writes:
            entries |= dict.fromkeys(of_slot.add)
        staged = orjson.dumps([plan.as_list(entry) for entry in entries])
        stage = _Writes()
        stage.hold(row.own_fence)
        stage.others.append(("SET", row.staged, staged))
        # The fence stays for the last step.
        return stage.call(self.token, finish=False)

    def _finish_call(self, kind: Kind, row: _Row, work: RowWork, own: _Writes) -> Command:
        """Return the call that writes in the row's own slot, with its record as the last one."""
        own.hold(row.own_fence)
        own.conditions = kind.conditions(row.pk, work.before)
        own.others += kind.finish({row.pk: work.own})
        own.others.append(("DEL", row.staged))
        return own.call(self.token, finish=True)

    def collect(self) -> None:
        """Wait until all is written. Raises Conflict if another drain has begun since, and redis-py's errors."""
        replies = self.session.collect()
        if 0 in replies[: self._expected]:
            self.release()
            raise Conflict

    def release(self) -> None:
        """Delete the rows' own fences, so that other drains need not wait."""
        calls = [write_script.command([row.own_fence], [1, self.token, 1]) for row in self._rows.values()]
        # They also expire.
        with suppress(RedisError):
            self.session.ask(calls)


def _list_rows(kind: Kind, pks: Sequence[str]) -> Iterator[_Row]:
    for pk in dict.fromkeys(pks):
        slot = find_slot(kind.home(pk))
        yield _Row(kind.mirror.name, pk, slot)


def _place_fence(place: Place) -> str:
    slot = find_slot(place[0])
    return naming.row_fence(slot, "", "\0".join(place))


def _decode_staged(staged: bytes | None) -> list[Entry] | None:
    if staged is None:
        return None
    # An empty list counts, too: a drain has not finished, so every entry is written again.
    return [plan.from_list(parts) for parts in orjson.loads(staged)]


def _list_works(works: Works) -> Iterator[RowWork]:
    for _, rows in works:
        yield from rows.values()


def _split_keys(command: Command) -> Iterator[Command]:
    """Yield an MSET as one SET for each key, because the script takes commands with one key each."""
    if command[0] != "MSET":
        yield command
        return
    for at in range(1, len(command), 2):
        key, value = command[at : at + 2]
        yield "SET", key, value


def _divide_by_slot(kind: Kind, row: _Row, work: RowWork) -> dict[int, _Writes]:
    """Return what is written for a row, by slot."""
    writes: dict[int, _Writes] = defaultdict(_Writes)
    for entry in single(work.reach):
        slot = find_slot(entry[0])
        writes[slot].hold(row.fence(slot))
    for entry in work.remove:
        slot = find_slot(entry[0])
        writes[slot].remove.append(entry)
    for entry in single(work.add):
        slot = find_slot(entry[0])
        writes[slot].add.append(entry)
    for command in kind.mirror.extra_commands({row.pk: work.own}):
        slot = find_slot(command[1])
        writes[slot].others.append(command)
    _add_feed(kind, work, writes)
    for slot, of_slot in writes.items():
        of_slot.hold(row.fence(slot))
        of_slot.hold_places()
    return writes


def _add_feed(kind: Kind, work: RowWork, writes: dict[int, _Writes]) -> None:
    feed = kind.mirror.feed()
    if feed is None or (work.feed_entry is None and not work.reach):
        return
    slot = find_slot(feed)
    # Also without an entry: the fence in its slot keeps the order of a row's entries.
    of_feed = writes[slot]
    if work.feed_entry is not None:
        length = int(setting("FEED_LENGTH"))
        of_feed.others.append(("XADD", feed, "MAXLEN", "~", length, "*", "d", work.feed_entry))
