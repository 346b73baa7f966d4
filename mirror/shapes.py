"""The kinds of mirror, as apply and verify see them (windows: ``mirror.window_shapes``).

A *shape* says for its kind: which key a drain watches, how to ask what Redis says now, which entries that
accounts for, and which commands write the row's own key. All else is the same for every kind.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from mirror import naming, outbox, values
from mirror.declare import EdgeMirror, Mirror, Record, SummaryMirror, WindowMirror
from mirror.entries import Contribution
from mirror.session import Command

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
        """What SQL says the rows should be; rows left out are absent.

        Raises TypeError, naming mirror, row and place, for values of another type.
        """
        record_of, index, encode = self.mirror.record, self.mirror.index, self.encode
        targets = {}
        for pk, row in self.load(pks).items():
            record = record_of(row)
            try:
                own = encode(record)
            except (AttributeError, TypeError) as error:
                raise values.explain_record(self.mirror.name, pk, record, error) from error
            entries = list(index(record))
            values.check_entries(self.mirror.name, pk, entries)
            targets[pk] = Target(own, entries)
        return targets

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        """What the rows are to be, where Redis says this of them now."""
        return self.targets(pks)

    def standing(self, pk: str, said: Said, target: Target) -> Target:
        """What Redis is to say at rest, where it says this, and SQL ``target``."""
        return target

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """The rows. Keys that no row can have (a stray's) are left out, also where SQL would not take them.

        Raises TypeError for keys that are not text: all rows would seem to be deleted.
        """
        try:
            found = self.mirror.load(pks)
        except Exception:
            possible = [pk for pk in pks if self.mirror.is_possible(pk)]
            if len(possible) == len(pks):
                raise
            found = self.mirror.load(possible)
        for pk in found:
            if type(pk) is not str:
                raise TypeError(f"{self.mirror.name}: load() returned the key {pk!r}; keys are str, as they were given")
        return found

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
        values.check_fields(record)
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
        present, targets = self.mirror.present, {}
        for pk, value in self.load(pks).items():
            entries = list(present(pk, value))
            values.check_entries(self.mirror.name, pk, entries)
            targets[pk] = Target(None, entries)
        return targets

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        return [command for pk in owns for command in _touch(self.watched(pk))]


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
    from mirror.window_shapes import window_shape

    if isinstance(mirror, EdgeMirror):
        return EdgeShape(mirror)
    if isinstance(mirror, WindowMirror):
        return window_shape(mirror)
    if isinstance(mirror, SummaryMirror):
        return SummaryShape(mirror)
    return HashShape(mirror) if mirror.record_kind == "hash" else JsonShape(mirror)
