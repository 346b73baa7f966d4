"""The three kinds of mirror, as apply and verify see them.

A *shape* says for its kind: which key a drain watches, how to ask what Redis says now, which entries that
accounts for, and which commands write the row's own key. All else is the same for every kind.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import orjson

from mirror import naming, outbox
from mirror.declare import SENTINEL, EdgeMirror, Mirror, Record, SummaryMirror, WindowMirror
from mirror.entries import Contribution, Scored
from mirror.session import Command, Conflict

Said = Any  # what the row's own key says, decoded: bytes, a dict, a list, or None


class Target(NamedTuple):
    """What one row should look like in Redis; ``own`` is its own key's content (None: no key)."""

    own: Said
    entries: list[Contribution]


ABSENT = Target(None, [])
SUMMED_UP = 2000  # changes that one drain of a summary applies, beside those it was asked for
ASKED = 1000  # records that one command reads


def _touch(key: str) -> list[Command]:
    """Leave no key behind, but break every other drain's WATCH: a plain DEL of nothing would not."""
    return [("SET", key, ""), ("DEL", key)]


class JsonShape:
    """A record as one JSON string; keys sorted, so that equal records are equal bytes."""

    # The record as the row's own key holds it. Not a method: it runs for every row of a rebuild.
    encode: Callable[[Record], Said] = partial(orjson.dumps, option=orjson.OPT_SORT_KEYS)

    sums_up = False  # whether all rows make one key

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def pending(self, pks: Sequence[str]) -> dict[str, list[outbox.Pending]]:
        """The changes that a drain of these rows applies, by the row that it reads for them."""
        return outbox.pending_of(self.mirror.name, pks)

    def watched(self, pk: str) -> str:
        """The key that every drain of the row watches and writes."""
        return self.mirror.key(pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        """The keys that a drain of these rows watches, each once."""
        return self.keys(pks)

    def keys(self, pks: Iterable[str]) -> list[str]:
        """The names of these rows' records, from what the declaration makes of one."""
        start, _, end = self.mirror.key("\0").partition("\0")
        return [f"{start}{pk}{end}" for pk in pks]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        """Commands that read what is said of these rows now."""
        keys = self.keys(pks)
        return [("MGET", *keys[start : start + ASKED]) for start in range(0, len(keys), ASKED)]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        """What the replies to ``ask`` say, one for each row."""
        return [said for reply in replies for said in reply]

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        """The entries that what was said accounts for."""
        return self.mirror.index(orjson.loads(said)) if said else ()

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """What SQL says the rows should be; rows left out are absent."""
        record_of, index, encode = self.mirror.record, self.mirror.index, self.encode
        targets = {}
        for pk, row in self.load(pks).items():
            record = record_of(row)
            targets[pk] = Target(encode(record), list(index(record)))
        return targets

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        """What the rows are to be, where Redis says this of them now."""
        return self.targets(pks)

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """The rows. Keys that no row can have (a stray's) are left out, also where SQL would not take them."""
        try:
            return self.mirror.load(pks)
        except Exception:
            possible = [pk for pk in pks if self.mirror.is_possible(pk)]
            if len(possible) == len(pks):
                raise
            return self.mirror.load(possible)

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        """Commands that make the rows' own keys say this: always a write, also of the same."""
        pairs: list[Said] = []
        gone: list[Command] = []
        for key, own in zip(self.keys(owns), owns.values(), strict=True):
            if own is None:
                gone += _touch(key)
            else:
                pairs += (key, own)
        return [("MSET", *pairs), *gone] if pairs else gone


class HashShape(JsonShape):
    """A record as a Redis hash, text to text."""

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("HGETALL", self.mirror.key(pk)) for pk in pks]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [_pairs(reply) for reply in replies]

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        return self.mirror.index(said) if said else ()

    @staticmethod
    def encode(record: Record) -> Said:
        return {field: str(value) for field, value in record.items()}

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        commands: list[Command] = []
        for pk, own in owns.items():
            key = self.mirror.key(pk)
            if own is None:
                commands += _touch(key)
            else:
                flat = [part for pair in own.items() for part in pair]
                commands += [("DEL", key), ("HSET", key, *flat)]
        return commands


def _pairs(reply: Any) -> dict[str, str] | None:
    items = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in items} or None


class EdgeShape(JsonShape):
    """No record: the key names both ends, so what an edge accounts for is known without reading."""

    mirror: EdgeMirror

    def watched(self, pk: str) -> str:
        return naming.guard(self.mirror.name, pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        return list(map(self.watched, pks))

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return []

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [None] * len(pks)

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        return self.mirror.entries(pk)

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        present = self.mirror.present
        return {pk: Target(None, list(present(pk, value))) for pk, value in self.load(pks).items()}

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        return [command for pk in owns for command in _touch(self.watched(pk))]


WHOLE: Final = 0.0  # scores of a lazy window's sentinel: it holds all there is,
CUT: Final = -1.0  # there is more in SQL,
MAKING: Final = -2.0  # it is being made, and for readers cold


class WindowShape(EdgeShape):
    """The newest rows of an owner. What is there accounts for itself; a guard makes drains meet, as for edges."""

    mirror: WindowMirror  # type: ignore[assignment]

    def watches(self, pks: Sequence[str]) -> list[str]:
        return [*map(self.watched, pks), *map(self.mirror.key, pks)]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("ZRANGE", self.mirror.key(pk), 0, -1, "WITHSCORES") for pk in pks]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [_members(reply) for reply in replies]

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        key = self.mirror.key(pk)
        return [Scored(key, member, score) for member, score in said.items()]

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        return {pk: Target(None, self._scored(pk, ids)) for pk, ids in self.load(pks).items()}

    def _scored(self, pk: str, ids: Iterable[int]) -> list[Contribution]:
        key = self.mirror.key(pk)
        return [Scored(key, str(one), one) for one in ids]


class LazyShape(WindowShape):
    """A window that is there only while it is read."""

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """What the windows are when they are made: those of every owner there is, also of one who has nothing."""
        found, length = self.load(pks), self.mirror.length
        targets = {}
        for pk in self.mirror.owners(pks):
            ids = found.get(pk, ())
            end = Scored(self.mirror.key(pk), SENTINEL, CUT if len(ids) > length else WHOLE)
            targets[pk] = Target(None, [*self._scored(pk, ids[:length]), end])
        return targets

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        """Warm windows are made anew. What is in the making is left to whoever makes it; all else is to be away."""
        scores = {pk: found.get(SENTINEL) for pk, found in zip(pks, said, strict=True)}
        warm = [pk for pk, score in scores.items() if score in (WHOLE, CUT)]
        making = {pk: found for pk, found in zip(pks, said, strict=True) if scores[pk] == MAKING}
        targets = {pk: Target(None, list(self.before(pk, found))) for pk, found in making.items()}
        return targets | self.targets(warm) if warm else targets


class WarmingShape(LazyShape):
    """A lazy window that is being made."""

    made = False  # whether there is such a window

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        if any(found.get(SENTINEL) is None for found in said):
            raise Conflict  # taken away meanwhile: what is pushed would not get in
        targets = self.targets(pks)
        self.made = bool(targets)
        return targets

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        seconds, keys = self.mirror.life_seconds, list(map(self.mirror.key, owns))
        lives: list[Command] = [("EXPIRE", key, seconds) if seconds else ("PERSIST", key) for key in keys]
        return super().write(owns) + lives


def _members(reply: Any) -> dict[str, float]:
    """Members and scores of a sorted set."""
    pairs = reply if reply and isinstance(reply[0], (list, tuple)) else zip(reply[::2], reply[1::2], strict=True)
    return {member.decode(errors="replace"): float(score) for member, score in pairs}


class SummaryShape(JsonShape):
    """One list, whole. Whatever row changed, the list is what is made again."""

    mirror: SummaryMirror
    sums_up = True

    def pending(self, pks: Sequence[str]) -> dict[str, list[outbox.Pending]]:
        """All there are, if there are any of these rows: the list is made from every row, so the first of many
        drains does what the others wait for.
        """
        found, wanted = outbox.pending_at_all(self.mirror.name, SUMMED_UP), set(pks)
        if len(found) == SUMMED_UP:  # these rows' may not be among them
            own = outbox.pending_of(self.mirror.name, pks).values()
            found = list({change.id: change for changes in (found, *own) for change in changes}.values())
        return {pks[0]: found} if any(change.key in wanted for change in found) else {}

    def watched(self, pk: str) -> str:
        return self.mirror.key("")

    def watches(self, pks: Sequence[str]) -> list[str]:
        return [self.mirror.key("")]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("LRANGE", self.mirror.key(""), 0, -1)]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [[item.decode(errors="replace") for item in replies[0]] or None] * len(pks)

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        return ()

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        items = [str(item) for item in self.mirror.items()]
        return dict.fromkeys(pks, Target(items, [])) if items else {}

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        key, items = self.mirror.key(""), next(iter(owns.values()))
        if items is None:
            return _touch(key)
        return [("DEL", key), ("RPUSH", key, *items)]


def shape_of(mirror: Mirror) -> JsonShape:
    """The shape of a mirror's kind."""
    if isinstance(mirror, EdgeMirror):
        return EdgeShape(mirror)
    if isinstance(mirror, WindowMirror):
        return LazyShape(mirror) if mirror.lazy else WindowShape(mirror)
    if isinstance(mirror, SummaryMirror):
        return SummaryShape(mirror)
    return HashShape(mirror) if mirror.record_kind == "hash" else JsonShape(mirror)
