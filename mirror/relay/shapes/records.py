"""Shapes of rows with records: JSON, hashes and bitmaps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from mirror.conf import use_database
from mirror.declare import values
from mirror.declare.entries import Contribution, Entry
from mirror.declare.mirrors import Mirror, Record
from mirror.outbox import changes as outbox
from mirror.outbox.errors import raise_if_away
from mirror.redis.session import Command
from mirror.relay import plan

Said = Any  # the decoded value of a row's own key: bytes, a dict, a list, or None


class Target:
    """The expected content of Redis for one row. own: the value of its own key, or None without one.

    entries: also as a function, for a drain, which needs all of them only for new rows. record: the one that
    ``entries`` are derived from, if any.
    """

    __slots__ = ("_entries", "own", "record")

    def __init__(
        self,
        own: Said,
        entries: list[Contribution] | Callable[[], list[Contribution]],
        record: Record | None = None,
    ) -> None:
        self.own, self._entries, self.record = own, entries, record

    @property
    def entries(self) -> list[Contribution]:
        """Return all entries of the row."""
        if callable(self._entries):
            self._entries = self._entries()
        return self._entries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and (self.own, self.entries) == (other.own, other.entries)


ABSENT = Target(None, [])
ASKED = 1000  # records in one command


def touch(key: str) -> list[Command]:
    """Return commands that leave no key but break the WATCH of other drains. DEL of a missing key would not."""
    # Redis notifies watchers of each write, whatever the final value is. A tombstone would stay behind.
    return [("SET", key, ""), ("DEL", key)]


class JsonShape:
    """A record as one JSON string. Its keys are sorted, so that equal records are equal bytes."""

    # The record in the form of the row's own key. Not a method, because it runs for every row of a rebuild.
    encode: Callable[[Record], Said] = staticmethod(partial(orjson.dumps, option=orjson.OPT_SORT_KEYS))

    sums_up = False  # whether all rows share one key

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def pending(self, pks: Sequence[str]) -> dict[str, list[outbox.Pending]]:
        """Return the changes that a drain of these rows applies, by the row that covers them."""
        return outbox.pending_of(self.mirror.name, pks, self.mirror.version)

    def watched(self, pk: str) -> str:
        """Return the key that every drain of the row watches and writes."""
        return self.mirror.record_key(pk)

    def home(self, pk: str) -> str:
        """Return the key whose slot contains the row's fence on a cluster."""
        return self.watched(pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        """Return the keys that a drain of these rows watches, without duplicates."""
        return self.keys(pks)

    def keys(self, pks: Iterable[str]) -> list[str]:
        """Return the keys of these rows' records, derived from one call of ``key``."""
        start, _, end = self.mirror.record_key("\0").partition("\0")
        return [f"{start}{pk}{end}" for pk in pks]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        """Return the commands that read the present state of these rows."""
        keys = self.keys(pks)
        return [("MGET", *keys[start : start + ASKED]) for start in range(0, len(keys), ASKED)]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        """Return the states in the replies to ``ask``, one for each row."""
        return [said for reply in replies for said in reply]

    def decode(self, said: Said) -> Record | None:
        """Return the record in a state, or None without one."""
        return orjson.loads(said) if said else None

    def before(self, pk: str, said: Said) -> Iterable[Contribution]:
        """Return the entries for which a state accounts."""
        record = self.decode(said)
        return () if record is None else self.mirror.index(pk, record)

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """Return the expected content for these rows by SQL. Missing rows are left out.

        Raises TypeError, naming mirror, row and place, for values of the wrong type.
        """
        targets = self.wanted(pks, ())
        for target in targets.values():
            _ = target.entries
        return targets

    def wanted(self, pks: Sequence[str], said: Sequence[Said]) -> dict[str, Target]:
        """Return the content that a drain writes for these rows, given their present states."""
        record_of, encode = self.mirror.record, self.encode
        targets = {}
        for pk, row in self.load(pks).items():
            record = record_of(row)
            if record is None:
                raise TypeError(f"{self.mirror.name}: record() returned None for {pk!r}; load() leaves hidden rows out")
            try:
                own = encode(record)
            except (AttributeError, TypeError) as error:
                raise values.explain_record(self.mirror.name, pk, record, error) from error
            targets[pk] = Target(own, partial(self._list_entries, pk, record), record)
        return targets

    def _list_entries(self, pk: str, record: Record) -> list[Contribution]:
        return values.list_entries(self.mirror.name, pk, self.mirror.index(pk, record))

    def standing(self, pk: str, said: Said, target: Target) -> Target:
        """Return the expected content at rest, given a row's present state and its content by SQL."""
        return target

    def difference(
        self, pk: str, said: Said, strays: Sequence[Entry], target: Target
    ) -> tuple[Sequence[Entry], Sequence[Contribution]]:
        """Return the entries to remove and those to add, to get from a state and ``strays`` to ``target``."""
        if said and not strays and target.record is not None:
            changed = self._list_changes(pk, said, target)
            if changed is not None:
                return (), changed
        return plan.difference([*self.accounted(pk, said), *strays], target.entries)

    def _list_changes(self, pk: str, said: Said, target: Target) -> Sequence[Contribution] | None:
        """Return the entries to add, or None if all entries have to be compared.

        An entry to remove may also be one of an index that did not change.
        """
        if said == target.own:
            return ()
        layout = self.mirror.layout
        if layout is None or target.record is None or type(self.mirror).index is not Mirror.index:
            return None
        try:
            before, after = layout.list_changes(pk, self.decode(said) or {}, target.record)
        except Exception as error:  # as in ``accounted``
            raise_if_away(error)
            return None
        remove, add = plan.difference(before, after)
        if remove:
            return None
        values.check_entries(self.mirror.name, pk, after)
        return add

    def accounted(self, pk: str, said: Said) -> list[Contribution]:
        """Return the entries for which a state accounts, or none for a state that is not this declaration's."""
        try:
            return list(self.before(pk, said))
        except Exception as error:  # a record of another layout or from another writer may raise anything
            raise_if_away(error)  # ``index`` may look an unchangeable row up
            return []  # verification finds the entries

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the rows. Impossible keys (of strays) are left out if ``load`` fails because of them.

        They are never those of a read replica: drains, rebuilds and verifications load rows here. Raises TypeError for
        keys that are not text, because all rows would then seem to be deleted.
        """
        with use_database(None):
            try:
                found = self.mirror.load(pks)
            except Exception:
                possible = [pk for pk in pks if self.mirror.is_possible(pk)]
                if len(possible) == len(pks):
                    raise
                found = self.mirror.load(possible)
        if not isinstance(found, Mapping):
            raise TypeError(
                f"{self.mirror.name}: load() returned {found!r:.100}, which is no mapping from keys to rows"
            )
        for pk in found:
            if type(pk) is not str:
                raise TypeError(f"{self.mirror.name}: load() returned the key {pk!r}; keys are str, as they were given")
        return found

    def conditions(self, pk: str, said: Said) -> list[Command]:
        """Return the conditions under which a drain of a row in this state may end on a cluster."""
        return []

    def finish(self, owns: Mapping[str, Said]) -> list[Command]:
        """Return the commands with which a drain of these rows ends on a cluster, each with one key or MSET."""
        return self.write(owns)

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        """Return the commands that write the rows' own keys. They write even if the value is unchanged."""
        pairs: list[Said] = []
        gone: list[Command] = []
        for key, own in zip(self.keys(owns), owns.values(), strict=True):
            if own is None:
                gone += touch(key)
            else:
                pairs += (key, own)
        return [("MSET", *pairs), *gone] if pairs else gone


class HashShape(JsonShape):
    """A record as a Redis hash, text to text."""

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("HGETALL", self.mirror.record_key(pk)) for pk in pks]

    def said(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Said]:
        return [_pairs(reply) for reply in replies]

    def decode(self, said: Said) -> Record | None:
        return said or None

    @staticmethod
    def encode(record: Record) -> Said:
        values.check_fields(record)
        return {field: str(value) for field, value in record.items()}

    def write(self, owns: Mapping[str, Said]) -> list[Command]:
        commands: list[Command] = []
        for pk, own in owns.items():
            key = self.mirror.record_key(pk)
            if own is None:
                commands += touch(key)
            else:
                flat = [part for pair in own.items() for part in pair]
                commands += [("DEL", key), ("HSET", key, *flat)]
        return commands


class BitmapShape(JsonShape):
    """A record as a bitmap: bytes, which are never empty."""

    @staticmethod
    def encode(record: Any) -> Said:
        if not isinstance(record, bytes) or not record:
            raise TypeError(f"the record is {record!r:.100}, and has to be bytes; load() leaves rows without bits out")
        return record

    def decode(self, said: Said) -> Any:
        return said or None


def _pairs(reply: Any) -> dict[str, str] | None:
    items = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in items} or None
