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

    def call(self, token: str, *, finish: bool) -> Command:
        """Return the call of the script."""
        added = {plan.place(entry) for entry in self.add if _is_claim(entry)}
        taken = [entry for entry in self.remove if _is_claim(entry) and plan.place(entry) not in added]
        plain = [entry for entry in self.remove if not _is_claim(entry)]
        commands: list[Command] = [*self.conditions, *(("TAKE", *entry) for entry in taken)]
        for command in [*plan.commands(plain, self.add), *self.others]:
            if command[0] == "MSET":
                commands += [("SET", *command[i : i + 2]) for i in range(1, len(command), 2)]
            else:
                commands.append(command)
        keys = [*self.fences, *self.places, *(command[1] for command in commands)]
        args = [len(self.fences) + len(self.places), token, len(self.fences) if finish else 0]
        for name, _, *words in commands:
            args += [name, len(words), *words]
        return write_script.command(keys, args)


class Fences:
    """The fences of one attempt to drain rows of several mirrors.

    staged: by mirror and row, the entries that an unfinished drain may have written, or None if there was none.
    is_forced: whether fences of other drains are taken although they are fresh.
    """

    def __init__(self, session: Session, parts: Iterable[tuple[Kind, Sequence[str]]], *, is_forced: bool) -> None:
        self.session, self.token, self.parts = session, uuid.uuid4().hex, list(parts)
        self.staged: dict[tuple[str, str], list[Entry] | None] = {}
        self._respected = 0 if is_forced else RESPECTED
        self._rows = {(kind.mirror.name, row.pk): row for kind, pks in self.parts for row in _list_rows(kind, pks)}
        self._claimed: set[str] = set()  # fences
        self._values: dict[Place, str | None] = {}  # of claimed places

    def begin(self) -> list[Sequence[Stored]]:
        """Set the rows' own fences and read their states, by part. Raises Conflict if another drain has begun."""
        asks = [[(row, kind.ask([row.pk])) for row in _list_rows(kind, pks)] for kind, pks in self.parts]
        calls = [self._begin_call(row, ask) for part in asks for row, ask in part]
        replies = self.session.ask(calls)
        if 0 in replies:
            self.release()
            raise Conflict
        found, of_parts = iter(replies), list[Sequence[Stored]]()
        for (kind, pks), part in zip(self.parts, asks, strict=True):
            states: dict[str, Stored] = {}
            for row, ask in part:
                staged, reply = next(found)
                (states[row.pk],) = kind.read_states([row.pk], [reply] if ask else [])
                entries = None if staged is None else [plan.from_list(parts) for parts in orjson.loads(staged)]
                self.staged[kind.mirror.name, row.pk] = entries
            of_parts.append([states[pk] for pk in pks])
        return of_parts

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
            calls, places = [], []
            for fences, wanted in todo.values():
                keys = [*fences, *(_place_fence(place) for place in wanted)]
                fields = [place[1] if len(place) > 1 else "" for place in wanted]
                calls.append(
                    claim_script.command(
                        [*keys, *(place[0] for place in wanted)], [len(keys), self.token, LIFE, *fields]
                    )
                )
                self._claimed.update(keys)
                places += wanted
            found = [value for reply in self.session.ask(calls) for value in reply]
            self._values |= {p: v and v.decode(errors="replace") for p, v in zip(places, found, strict=True)}
            added = [e for _, rows in works for row in rows.values() for e in single(row.add) if _is_claim(e)]
            if any(self._values[p] not in (None, e[-1]) for e in added if (p := plan.place(e)) in set(places)):
                works = read()
        return works

    def _find_unclaimed(self, works: Works) -> dict[int, tuple[list[str], list[Place]]]:
        """Return the fences of rows and the places, by slot, that are not claimed yet."""
        todo: dict[int, tuple[list[str], list[Place]]] = defaultdict(lambda: ([], []))
        for (row, _), writes in self._list_writes(works):
            for slot in writes:
                if slot != row.slot and (fence := row.fence(slot)) not in self._claimed:
                    todo[slot][0].append(fence)
        places = {plan.place(e) for _, rows in works for row in rows.values() for e in _claims(row)}
        for place in sorted(places - self._values.keys()):
            todo[find_slot(place[0])][1].append(place)
        return todo

    def _list_writes(self, works: Works) -> Iterator[tuple[tuple[_Row, RowWork], dict[int, _Writes]]]:
        """Yield each row with what is written in each slot that it reaches."""
        for kind, rows in works:
            feed = kind.mirror.feed()
            for pk, work in rows.items():
                row = self._rows[kind.mirror.name, pk]
                writes: dict[int, _Writes] = defaultdict(_Writes)
                for entry in single(work.reach):
                    writes[find_slot(entry[0])].fences[row.fence(find_slot(entry[0]))] = None
                for entry in work.remove:
                    writes[find_slot(entry[0])].remove.append(entry)
                for entry in single(work.add):
                    writes[find_slot(entry[0])].add.append(entry)
                for command in kind.mirror.extra_commands({pk: work.own}):
                    writes[find_slot(command[1])].others.append(command)
                if feed is not None and (work.feed_entry is not None or work.reach):
                    others = writes[find_slot(feed)].others
                    if work.feed_entry is not None:
                        length = int(setting("FEED_LENGTH"))
                        others.append(("XADD", feed, "MAXLEN", "~", length, "*", "d", work.feed_entry))
                for slot, slot_writes in writes.items():
                    slot_writes.fences[row.fence(slot)] = None
                    for entry in (*slot_writes.remove, *slot_writes.add):
                        if _is_claim(entry):
                            slot_writes.places[_place_fence(plan.place(entry))] = None
                yield (row, work), writes

    def post(self, works: Works, others: Sequence[Command]) -> None:
        """Stage and write the entries in other slots, then send the rest. ``collect`` returns when it is done.

        others: commands that are sent with the rest. Raises Conflict if another drain has begun since.
        """
        found = [(row, work, writes) for (row, work), writes in self._list_writes(works)]
        stages, elsewhere, rest = [], defaultdict[int, _Writes](_Writes), list[Command]()
        kinds = {kind.mirror.name: kind for kind, _ in works}
        for row, work, writes in found:
            own = writes.pop(row.slot, _Writes())
            own.fences[row.fence(row.slot)] = None
            if writes:
                stages.append(self._stage_call(row, writes.values()))
            for slot, one in writes.items():
                elsewhere[slot].fences |= one.fences
                elsewhere[slot].places |= one.places
                elsewhere[slot].remove += one.remove
                elsewhere[slot].add += one.add
                elsewhere[slot].others += one.others
            kind = kinds[row.mirror]
            own.conditions = kind.conditions(row.pk, work.before)
            own.others += [*kind.finish({row.pk: work.own}), ("DEL", row.staged)]
            rest.append(own.call(self.token, finish=True))
        for calls in (stages, [one.call(self.token, finish=True) for one in elsewhere.values()]):
            if calls and 0 in self.session.ask(calls):
                self.release()
                raise Conflict
        self._expected = len(rest)
        self.session.post([*rest, *others])

    def _stage_call(self, row: _Row, writes: Iterable[_Writes]) -> Command:
        before = self.staged.get((row.mirror, row.pk)) or ()
        entries = dict.fromkeys([*before, *(entry for one in writes for entry in one.add)])
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
        with suppress(RedisError):
            self.session.ask(
                [write_script.command([row.fence(row.slot)], [1, self.token, 1]) for row in self._rows.values()]
            )


def _list_rows(kind: Kind, pks: Sequence[str]) -> list[_Row]:
    return [_Row(kind.mirror.name, pk, find_slot(kind.home(pk))) for pk in dict.fromkeys(pks)]


def _place_fence(place: Place) -> str:
    return naming.row_fence(find_slot(place[0]), "", "\0".join(place))


def _is_claim(entry: Contribution) -> bool:
    return isinstance(entry, Field | Value) and not isinstance(entry, OwnField)


def _claims(row: RowWork) -> Iterator[Entry]:
    return (entry for entries in (row.remove, row.add) for entry in single(entries) if _is_claim(entry))
