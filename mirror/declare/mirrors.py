"""The declarations of an application: which rows appear in Redis, and how.

A mirror is a pure function from a row to its record and entries. Capture, drain, rebuild, verify, repair and
explain are generic and need nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from django.core.exceptions import ValidationError
from django.db.models import Field, IntegerField, Model, Q

from mirror.declare.entries import Contribution
from mirror.declare.fields import RecordField
from mirror.declare.indexes import Index, parse_template
from mirror.declare.paths import find_value_field, get_concrete
from mirror.declare.readers import R, Readers
from mirror.declare.watches import After, Family, Watch
from mirror.redis.session import Command
from mirror.utils.rows import all_rows

if TYPE_CHECKING:
    from mirror.declare.layout import Layout

Record = dict[str, Any]
RecordKind = Literal["json", "hash", "bitmap"]
# inline: before the write returns. after_response: outside of requests the same. worker: a worker drains soon.
# relay: the next sweep drains, and no request waits for it or asks SQL because of it.
Drain = Literal["inline", "after_response", "worker", "relay"]


class Mirror(Readers[R]):
    """Rows with records: ``record_key(id)`` holds the result of ``record``, as JSON, as a hash or as a bitmap.

    A declaration with ``fields`` needs no methods and no ``watches``, because everything is derived from the names
    (``mirror.declare.layout``). Others define ``load`` and ``record``, and ``index`` unless they have ``indexes``.
    """

    mirror_kind: ClassVar[str] = "record"  # the name of its kind (``mirror.kinds``)
    name: ClassVar[str]  # default: the class in snake case, without "Mirror"
    label: ClassVar[Any] = ""  # the name that staff read; default: the name, translated if it is a known text
    version: ClassVar[int | str] = 1  # increased with every new layout that is not derived
    model: ClassVar[type[Model]]
    key: ClassVar[str] = ""  # a template of the records' keys: "book:{pk}"
    fields: ClassVar[Sequence[RecordField]] = ()
    indexes: ClassVar[Sequence[Index]] = ()
    where: ClassVar[Q | None] = None  # rows outside have neither record nor entries; for ``fields``
    watches: ClassVar[Sequence[Watch]] = ()  # in addition to derived ones
    buckets: ClassVar[int] = 1  # of the structures that ``index`` divides (``mirror.declare.buckets``)
    layout: ClassVar["Layout | None"] = None  # derived when the mirror is registered
    record_kind: ClassVar[RecordKind] = "json"
    has_record: ClassVar[bool] = True  # whether each row has a key of its own
    sums_up: ClassVar[bool] = False  # whether all changes of the watched tables are those of one row, with the key ""
    is_in_sql: ClassVar[bool] = False  # whether drains write rows in SQL, and not to Redis
    lists_ids: ClassVar[bool] = False  # whether the entries are ids of other mirrors' rows
    after: ClassVar[Sequence[After]] = ()  # the mirrors that must be drained first
    drain: ClassVar[Drain | None] = None  # when a process drains its own changes; None: ``MIRROR["DRAIN"]``
    # whether deletions and many-to-many links are hinted as well, although Django then loads the rows first
    inline_deletes: ClassVar[bool] = False
    strict: ClassVar[bool] = False  # for access or privacy: readers see each change within seconds despite any fault

    def record_key(self, pk: str) -> str:
        """Return the key of the record of row ``pk``. The text around ``pk`` must be constant."""
        return parse_template(self.key).fill(pk, None, {})

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return rows from SQL by key, in a fixed number of queries, without deleted and hidden ones."""
        return self._get_layout().load(pks)

    def record(self, row: Any) -> Record:
        """Return the record of a row: JSON-compatible; for a hash, text to text; for a bitmap, bytes. Pure."""
        return self._get_layout().build_record(row)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        """Return the entries of row ``pk``, derived from key and record alone, without duplicates. Pure."""
        return self.layout.list_entries(pk, record) if self.layout else ()

    def families(self) -> Sequence[Family]:
        """Return the key families in which ``index`` places entries."""
        return self.layout.families() if self.layout else ()

    def _get_layout(self) -> "Layout":
        if self.layout is None:
            raise NotImplementedError(f"{type(self).__qualname__} needs fields, or load() and record()")
        return self.layout

    def rows_behind(self, record: Record) -> Iterable[tuple[type[Model], Any]]:
        """Return the watched rows of other tables that the record was made from: model, key of its change. Pure.

        A strict mirror names the rows with changes that make the record outdated (a session's user).
        """
        return ()

    def extra_commands(self, records: Mapping[str, Any]) -> list[Command]:
        """Return commands that are sent with these rows' records in one transaction (None: the row is gone).

        The records are encoded as in Redis. The commands are for data of which Redis may have a newer
        form: they may only add missing data, and may run twice. Verification ignores their effects.
        """
        return []

    def retired(self) -> Sequence[str]:
        """Return the beginnings of keys of earlier layouts, which a rebuild deletes."""
        return self.layout.retired() if self.layout else ()

    def feed(self) -> str | None:
        """Return the stream that receives changed entries (see ``mirror.read.local``), or None for no stream."""
        return None

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """Return the next ``limit`` primary keys in ascending order (keyset; never OFFSET)."""
        rows = all_rows(self.model).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=after)
        return [str(pk) for pk in rows.values_list("pk", flat=True)[:limit]]

    def pk_of(self, key: str) -> str | None:
        """Return the row with this key of its record, or None if this mirror has no such key."""
        # A zero byte, which no key contains, marks the place of the primary key.
        start, _, end = self.record_key("\0").partition("\0")
        if not (key.startswith(start) and key.endswith(end)):
            return None
        pk = key[len(start) : len(key) - len(end)]
        if can_hold(get_primary(self.model), pk):
            return pk
        # A stray, or a key of another mirror that begins like this one's
        return None

    def is_possible(self, pk: str) -> bool:
        """Return whether a row could have this key, by the types of the key columns (a stray's key may be anything)."""
        table = get_concrete(self.model)
        for watch in self.watches:
            if not watch.source and get_concrete(watch.model) is table:
                return _is_possible(watch, pk)
        return True


def get_primary(model: type[Model]) -> "Field[Any, Any]":
    """Return the primary key of a model."""
    pk = model._meta.pk
    assert pk is not None
    return pk


def _is_possible(watch: Watch, key: str) -> bool:
    """Return whether the key columns of a watch could hold the values in a key."""
    columns = watch.key_columns
    if not columns:
        return key == ""
    # The text of a single column may contain the separator.
    parts = key.split(":") if len(columns) > 1 else [key]
    fields = _list_key_fields(watch)
    return len(parts) == len(fields) and all(map(can_hold, fields, parts))


def _list_key_fields(watch: Watch) -> "list[Field[Any, Any]]":
    """Return the fields of the columns that form the key of a change."""
    known = watch.model._meta.concrete_fields
    return [field for column in watch.key_columns for field in known if field.column == column]


def can_hold(field: "Field[Any, Any]", text: str) -> bool:
    """Return whether a column can hold the value that ``text`` represents. No key contains a zero byte."""
    field = find_value_field(field)
    # A fast path for nearly all keys, because drains and verifications ask for each of them
    if len(text) < 10 and text.isdecimal() and text.isascii() and isinstance(field, IntegerField):
        return text == "0" or text[0] != "0"
    if "\0" in text:
        # PostgreSQL refuses it, and SQLite finds no such text in an array.
        return False
    try:
        value = field.to_python(text)
        if isinstance(field, IntegerField):
            field.run_validators(value)  # checks the range
    except ValidationError:
        return False
    # Another text of the same value, such as "01", is no key: the row would be in Redis twice.
    return str(value) == text


class EdgeMirror(Mirror):
    """Rows without records, which are created and deleted but never changed (a follow).

    Their key names both ends: "5:7".
    """

    mirror_kind = "edge"
    has_record = False

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the existing edges among ``pks``. The values are passed to ``present``."""
        raise NotImplementedError

    def entries(self, pk: str) -> Iterable[Contribution]:
        """Return all entries that the edge may contribute. Pure."""
        raise NotImplementedError

    def present(self, pk: str, value: Any) -> Iterable[Contribution]:
        """Return the ``entries`` that the edge contributes, given its value from ``load``. Pure. Default: all."""
        return self.entries(pk)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """Return the next ``limit`` edges, ordered by the key columns of the first watch."""
        watch = self.watches[0]
        names = [field.attname for field in _list_key_fields(watch)]
        rows = all_rows(watch.model).order_by(*names)
        if after is not None:
            # The text of a single column may contain the separator.
            values = after.split(":") if len(names) > 1 else [after]
            rows = rows.filter(_build_greater(names, values))
        return [":".join(map(str, values)) for values in rows.values_list(*names)[:limit]]


def _build_greater(fields: Sequence[str], values: Sequence[str]) -> Q:
    """Return the condition (a, b) > (x, y)."""
    condition = Q(pk__in=[])
    same = Q()
    for field, value in zip(fields, values, strict=True):
        condition |= same & Q(**{f"{field}__gt": value})
        same &= Q(**{field: value})
    # Databases find the start in an index only by a condition that is no alternative of another.
    return condition & Q(**{f"{fields[0]}__gte": values[0]})


class SummaryMirror(Mirror):
    """One key that summarizes many rows (the last logins). It is recomputed at every change.

    It is mirrored like a record whose row has the key "", which all changes of the watched tables name.
    """

    mirror_kind = "summary"
    sums_up = True

    def items(self) -> list[str]:
        """Return the complete list from SQL. Its length must be bounded."""
        raise NotImplementedError

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the list for each key, or nothing if it is empty."""
        items = self.items()
        if not items:
            # Redis has no empty list: the key is missing.
            return {}
        return dict.fromkeys(pks, items)

    def record(self, row: Any) -> Any:
        """Return the list."""
        return row

    def pk_of(self, key: str) -> str | None:
        return "" if key == self.record_key("") else None

    def is_possible(self, pk: str) -> bool:
        return pk == ""

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """Return the single key ""."""
        if after is None:
            return [""]
        return []


class TableMirror(Mirror):
    """Rows in SQL that are derived from other rows (a search index). The outbox drives it; Redis is not involved.

    A drain replaces the derived rows and marks the changes in one transaction, so it needs no record for
    comparison.
    """

    mirror_kind = "table"
    has_record = False
    is_in_sql = True
    batch: ClassVar[int] = 100  # rows in one transaction
    tables: ClassVar[str]  # a name for the written tables; drains of mirrors with the same name exclude one another

    def replace(self, pks: Sequence[str], rows: Mapping[str, Any]) -> None:
        """Make the stored rows for ``pks`` equal to ``rows`` (by key, from ``load``), and delete those left out."""
        raise NotImplementedError

    def stored(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the stored rows by key; a correct one equals its value from ``load``."""
        raise NotImplementedError

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        """Return the next ``limit`` keys with stored rows (keyset)."""
        raise NotImplementedError
