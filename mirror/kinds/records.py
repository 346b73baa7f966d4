"""Kinds of mirrors with records: JSON, hashes and bitmaps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from mirror.comparison import plan
from mirror.comparison.targets import Stored, Target
from mirror.declare import values
from mirror.declare.entries import Contribution, Entry
from mirror.declare.mirrors import Mirror, Record
from mirror.kinds.base import Kind, touch
from mirror.outbox import changes as outbox
from mirror.outbox.errors import raise_if_away
from mirror.redis.session import Command
from mirror.utils import json_texts
from mirror.utils.queries import Query, Row

MAX_ASKED: Final = 1000  # records in one command


class JsonKind(Kind):
    """A record as one JSON string. Its keys are sorted, so that equal records are equal bytes."""

    needed: ClassVar[Sequence[str]] = ("record_key", "load", "record")
    # Not a method, because it runs for every row of a rebuild.
    encode: Callable[[Record], Stored] = staticmethod(json_texts.encode)

    def watches(self, pks: Sequence[str]) -> list[str]:
        return self.keys(pks)

    def keys(self, pks: Iterable[str]) -> list[str]:
        """Return the keys of these rows' records, derived from one call of ``key``."""
        start, _, end = self.mirror.record_key("\0").partition("\0")
        return [f"{start}{pk}{end}" for pk in pks]

    def ask(self, pks: Sequence[str]) -> list[Command]:
        """Return the commands that read the present state of these rows."""
        keys = self.keys(pks)
        if len(keys) == 1:
            # The command that a page sends ahead for its one record
            return [("GET", keys[0])]
        starts = range(0, len(keys), MAX_ASKED)
        return [("MGET", *keys[start : start + MAX_ASKED]) for start in starts]

    def read_states(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        """Return the states in the replies to ``ask``, one for each row."""
        if len(pks) == 1:
            # The reply to GET has no list around its value.
            return list(replies)
        states: list[Stored] = []
        for reply in replies:
            states += reply
        return states

    def decode(self, stored: Stored) -> Record | None:
        """Return the record in a state, or None without one."""
        return json_texts.decode(stored) if stored else None

    def before(self, pk: str, stored: Stored) -> Iterable[Contribution]:
        """Return the entries for which a state accounts."""
        record = self.decode(stored)
        if record is None:
            return ()
        return self.mirror.index(pk, record)

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """Return the expected content for these rows by SQL. Missing rows are left out.

        Raises TypeError, naming mirror, row and place, for values of the wrong type.
        """
        targets = self.wanted(pks, ())
        for target in targets.values():
            _ = target.entries
        return targets

    def wanted(self, pks: Sequence[str], stored: Sequence[Stored]) -> dict[str, Target]:
        """Return the content that a drain writes for these rows, given their present states."""
        return self._make_targets(self.load(pks))

    def write_queries(self, pks: Sequence[str]) -> list[Query] | None:
        layout = self.mirror.layout
        is_derived = getattr(self.mirror.load, "__func__", None) is Mirror.load
        if layout is None or not is_derived:
            return None
        return layout.write_queries(pks, outbox.using())

    def build_targets(self, results: Sequence[Sequence[Row]]) -> dict[str, Target]:
        assert self.mirror.layout is not None
        return self._make_targets(self.mirror.layout.build_rows(results, outbox.using()))

    def _make_targets(self, rows: Mapping[str, Any]) -> dict[str, Target]:
        record_of, encode = self.mirror.record, self.encode
        targets = {}
        for pk, row in rows.items():
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

    def difference(
        self, pk: str, stored: Stored, strays: Sequence[Entry], target: Target
    ) -> tuple[Sequence[Entry], Sequence[Contribution]]:
        """Return the entries to remove and those to add, to get from a state and ``strays`` to ``target``."""
        if stored and not strays and target.record is not None:
            # Usually few fields change, and only the indexes that use them are computed.
            changed = self._list_changes(pk, stored, target)
            if changed is not None:
                return (), changed
        return super().difference(pk, stored, strays, target)

    def _list_changes(self, pk: str, stored: Stored, target: Target) -> Sequence[Contribution] | None:
        """Return the entries to add, or None if all entries have to be compared.

        An entry to remove may also be one of an index that did not change.
        """
        if stored == target.own:
            return ()
        layout = self.mirror.layout
        if layout is None or target.record is None or type(self.mirror).index is not Mirror.index:
            return None
        try:
            record = self.decode(stored) or {}
            before, after = layout.list_changes(pk, record, target.record)
        except Exception as error:
            # As in ``accounted``
            raise_if_away(error)
            return None
        remove, add = plan.difference(before, after)
        if remove:
            return None
        values.check_entries(self.mirror.name, pk, after)
        return add

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        """Return the commands that write the rows' own keys. They write even if the value is unchanged."""
        # Unchanged values are written, too: a write breaks the WATCH of another drain, which may have read older rows.
        pairs: list[Stored] = []
        gone: list[Command] = []
        for key, own in zip(self.keys(owns), owns.values(), strict=True):
            if own is None:
                gone += touch(key)
            else:
                pairs += (key, own)
        if not pairs:
            return gone
        return [("MSET", *pairs), *gone]


class HashKind(JsonKind):
    """A record as a Redis hash, text to text."""

    def ask(self, pks: Sequence[str]) -> list[Command]:
        return [("HGETALL", self.mirror.record_key(pk)) for pk in pks]

    def read_states(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        return [_decode_hash(reply) for reply in replies]

    def decode(self, stored: Stored) -> Record | None:
        return stored or None

    @staticmethod
    def encode(record: Record) -> Stored:
        values.check_fields(record)
        return {field: str(value) for field, value in record.items()}

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        commands: list[Command] = []
        for pk, own in owns.items():
            key = self.mirror.record_key(pk)
            if own is None:
                commands += touch(key)
            else:
                flat: list[str] = []
                for field, value in own.items():
                    flat += (field, value)
                # HSET alone would keep fields that the row no longer has.
                commands += [("DEL", key), ("HSET", key, *flat)]
        return commands


class BitmapKind(JsonKind):
    """A record as a bitmap: bytes, which are never empty."""

    @staticmethod
    def encode(record: Any) -> Stored:
        if not isinstance(record, bytes) or not record:
            raise TypeError(f"the record is {record!r:.100}, and has to be bytes; load() leaves rows without bits out")
        return record

    def decode(self, stored: Stored) -> Any:
        return stored or None


def _decode_hash(reply: Any) -> dict[str, str] | None:
    """Return the fields in a reply to HGETALL, or None for a missing key, which Redis shows as an empty hash."""
    if not reply:
        return None
    # A script's reply and the older protocol RESP2 have a list in place of the dictionary.
    items = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    return {field.decode(errors="replace"): value.decode(errors="replace") for field, value in items}
