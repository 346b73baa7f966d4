"""The declarations of an application: which rows appear in Redis, and how.

A mirror is a pure function from a row to its record and entries. Capture, drain, rebuild, verify, repair and
explain are generic and need nothing else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Field, ForeignKey, IntegerField, Model, Q

from mirror.conf import setting
from mirror.declare.entries import Contribution
from mirror.declare.fields import RecordField
from mirror.declare.indexes import Index, parse_template
from mirror.declare.readers import Readers
from mirror.redis.session import Command

if TYPE_CHECKING:
    from mirror.declare.layout import Layout

Kind = Literal["set", "zset", "hash", "string", "list"]
Record = dict[str, Any]
# inline: before the write returns. after_response: outside of requests the same. worker: the relay drains.
Drain = Literal["inline", "after_response", "worker"]
SENTINEL: Final = "0"  # this member's score gives the state of a lazy window:
WHOLE: Final = 0.0  # the window holds all rows
CUT: Final = -1.0  # SQL has more rows
MAKING: Final = -2.0  # a warm-up is in progress; readers treat the window as cold


@dataclass(frozen=True)
class Watch:
    """A table whose modifications concern a mirror.

    model: the model of the watched table (a through model for many-to-many).
    columns: the database columns that form the key of a change, with their values before and after it; several are
        joined with ":". Default: the primary key.
    via: for a table other than the mirror's own (tags, for books). ``via(values, after, limit)`` returns up to
        ``limit`` keys greater than ``after`` (None: from the start), ascending, of the rows that depend on rows with
        these column values. It runs when the change is drained, never when it is made.
    only: further columns. An UPDATE that modifies none of them, and no key, is no change.
    updates: only UPDATEs are changes, because dependent rows in another watched table are created and deleted along
        with these.
    whole: the key is always "", for a mirror with this single key.
    pushed: the rows are pushed into the windows of a ``WindowMirror`` (see ``WindowMirror.reach``).
    """

    model: type[Model]
    columns: str | tuple[str, ...] = ()
    via: Callable[[Sequence[str], str | None, int], list[str]] | None = None
    only: tuple[str, ...] = ()
    updates: bool = False
    whole: bool = False
    pushed: bool = False

    @property
    def table(self) -> str:
        """Return the table's name in SQL."""
        return str(self.model._meta.db_table)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return the columns that form a change's key; none if it is always ""."""
        if self.whole:
            return ()
        if self.columns:
            return (self.columns,) if isinstance(self.columns, str) else self.columns
        pk = self.model._meta.pk
        assert pk is not None
        return (str(pk.column),)

    @property
    def source(self) -> str:
        """Return "" if the key is one of the mirror, else the table's name, by which ``via`` or ``reach`` is found."""
        return self.table if self.via or self.pushed else ""


@dataclass(frozen=True)
class Family:
    """Keys of one form that a mirror owns. They are searched for strays.

    start: the beginning of every key of the family; the whole key if ``whole``. end: the end of every key, if other
    families share the start. owner: returns, for (key, member or field or value), the key of the row that would
    contribute it.
    """

    start: str
    kind: Kind
    owner: Callable[[str, str], str]
    whole: bool = False
    end: str = ""

    def has(self, key: str) -> bool:
        """Return whether ``key`` belongs to this family."""
        if self.whole:
            return key == self.start
        return key.startswith(self.start) and key.endswith(self.end)


class Mirror(Readers):
    """Rows with records: ``record_key(id)`` holds the result of ``record``, as JSON or as a hash.

    A declaration with ``fields`` needs no methods and no ``watches``, because everything is derived from the names
    (``mirror.declare.layout``). Others define ``load`` and ``record``, and ``index`` unless they have ``indexes``.
    """

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
    record_kind: ClassVar[Literal["json", "hash"]] = "json"
    has_record: ClassVar[bool] = True  # whether each row has a key of its own
    drain: ClassVar[Drain | None] = None  # when a process drains its own changes; None: ``MIRROR["DRAIN"]``
    strict: ClassVar[bool] = False  # for access or privacy: readers see each change within seconds despite any fault

    def record_key(self, pk: str) -> str:
        """Return the key of the record of row ``pk``. The text around ``pk`` must be constant."""
        return parse_template(self.key).fill(pk, None, {})

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return rows from SQL by key, in a fixed number of queries, without deleted and hidden ones."""
        return self._get_layout().load(pks)

    def record(self, row: Any) -> Record:
        """Return the record of a row: JSON-compatible; for a hash, text to text. Pure."""
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

        The records are encoded as in Redis. The commands are for data of a backup, of which Redis may have a newer
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
        rows = self.model._base_manager.using(setting("DATABASE")).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=after)
        return [str(pk) for pk in rows.values_list("pk", flat=True)[:limit]]

    def pk_of(self, key: str) -> str | None:
        """Return the row with this key of its record, or None if this mirror has no such key."""
        start, _, end = self.record_key("\0").partition("\0")
        if not (key.startswith(start) and key.endswith(end)):
            return None
        pk = key[len(start) : len(key) - len(end)]
        return pk if can_hold(get_primary(self.model), pk) else None

    def is_possible(self, pk: str) -> bool:
        """Return whether a row could have this key, by the types of the key columns (a stray's key may be anything)."""
        watch = next((w for w in self.watches if not w.source and w.model is self.model), None)
        if watch is None:
            return True
        columns = watch.key_columns
        if not columns:
            return pk == ""
        parts = pk.split(":") if len(columns) > 1 else [pk]
        fields = [f for c in columns for f in watch.model._meta.concrete_fields if f.column == c]
        return len(parts) == len(fields) and all(map(can_hold, fields, parts))


def get_primary(model: type[Model]) -> "Field[Any, Any]":
    """Return the primary key of a model."""
    pk = model._meta.pk
    assert pk is not None
    return pk


def can_hold(field: "Field[Any, Any]", text: str) -> bool:
    """Return whether a column can hold the value that ``text`` represents."""
    while isinstance(field, ForeignKey):
        field = field.target_field
    # a fast path for nearly all keys
    if len(text) < 10 and text.isdecimal() and text.isascii() and isinstance(field, IntegerField):
        return text == "0" or text[0] != "0"
    try:
        value = field.to_python(text)
        if isinstance(field, IntegerField):
            field.run_validators(value)  # checks the range
    except ValidationError:
        return False
    return str(value) == text


class EdgeMirror(Mirror):
    """Rows without records, which are created and deleted but never changed (a follow).

    Their key names both ends: "5:7".
    """

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
        fields = [f.attname for c in watch.key_columns for f in watch.model._meta.concrete_fields if f.column == c]
        rows = watch.model._base_manager.using(setting("DATABASE")).order_by(*fields)
        if after is not None:
            rows = rows.filter(_greater(fields, after.split(":")))
        return [":".join(map(str, values)) for values in rows.values_list(*fields)[:limit]]


def _greater(fields: Sequence[str], values: Sequence[str]) -> Q:
    """Return the condition (a, b) > (x, y)."""
    condition, same = Q(pk__in=[]), Q()
    for field, value in zip(fields, values, strict=True):
        condition |= same & Q(**{f"{field}__gt": value})
        same &= Q(**{field: value})
    return condition


@dataclass(frozen=True)
class After:
    """A dependency: an applied change of another mirror orders a change of this one, never earlier.

    mirror: the name of the other mirror. owner: returns the key of this mirror for a key of the other one.
    """

    mirror: str
    owner: Callable[[str], str]


class Reached(NamedTuple):
    """A window that a pushed row concerns.

    owner: the window's owner. member: the row's id. source: the row's author, as a member of the sets in
    ``WindowMirror.sources``, or "" to skip them. shown: whether the row belongs in the window; otherwise it is
    removed.
    """

    owner: str
    member: int
    source: str
    shown: bool


class WindowMirror(Mirror):
    """The newest rows of each owner, in a sorted set of at most ``length`` ids. A row's id is its member and score.

    A window is recomputed when a change names its owner. An eager window exists whenever it has members. A lazy one
    exists while it is read. It has the member ``SENTINEL``, with score ``WHOLE`` if it holds all rows and ``CUT``
    if SQL has more; without the sentinel it is cold. Rows can be pushed into lazy windows.
    """

    has_record = False
    length: ClassVar[int]
    lazy: ClassVar[bool] = False
    life_seconds: ClassVar[int] = 0  # of an unread lazy window; 0: unlimited
    after: ClassVar[Sequence[After]] = ()

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the windows of ``pks``, without the empty ones."""
        return self.newest(pks, self.length + 1 if self.lazy else self.length)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Return up to ``limit`` ids for each owner, newest first, from SQL, in a fixed number of queries."""
        raise NotImplementedError

    @classmethod
    def is_of_rows(cls) -> bool:
        """Return whether the owners are rows of ``model``. Otherwise ``keys_after`` lists them."""
        return cls.keys_after is Mirror.keys_after

    def is_possible(self, pk: str) -> bool:
        return can_hold(get_primary(self.model), pk) if self.is_of_rows() else super().is_possible(pk)

    def owners(self, pks: Sequence[str]) -> set[str]:
        """Return the existing owners among ``pks``: only they have lazy windows. Default: rows of ``model``."""
        possible = [pk for pk in pks if can_hold(get_primary(self.model), pk)]
        rows = self.model._base_manager.using(setting("DATABASE")).filter(pk__in=possible)
        return {str(pk) for pk in rows.values_list("pk", flat=True)}

    def reach(self, rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
        """Return up to ``limit`` windows that these pushed rows concern, ordered by owner, after the owner
        ``after``.

        ``rows`` are keys of changes; a row may have been deleted since. There are several rows only if ``after`` is
        None. Whether a row is shown may depend on the row itself, on ``sources``, and on tables that are watched
        with ``via``. With any other dependency, a late delivery could undo a recompute.
        """
        raise NotImplementedError

    def sources(self, owner: str) -> tuple[str, str]:
        """Return two sets in the window's slot: the authors to show, and the authors to leave out in any case.

        The mirrors in ``after`` maintain the sets. With them, Redis refuses late rows of authors no longer shown.
        """
        raise NotImplementedError


class SummaryMirror(Mirror):
    """One key that summarizes many rows (the last logins). It is recomputed at every change."""

    def items(self) -> list[str]:
        """Return the complete list from SQL. Its length must be bounded."""
        raise NotImplementedError

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """Return the single key ""."""
        return [""] if after is None else []


class TableMirror(Mirror):
    """Rows in SQL that are derived from other rows (a search index). The outbox drives it; Redis is not involved.

    A drain replaces the derived rows and marks the changes in one transaction, so it needs no record for
    comparison.
    """

    has_record = False
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
