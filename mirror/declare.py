"""What an application writes down: which rows show how in Redis.

A mirror is a pure function from a row to what it contributes. Everything else (capture, apply,
rebuild, verify, repair, explain) is generic and lives in the other modules.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Field, ForeignKey, IntegerField, Model, Q

from mirror.conf import setting
from mirror.entries import Contribution
from mirror.session import Command

Kind = Literal["set", "zset", "hash", "string", "list"]
Record = dict[str, Any]
SENTINEL: Final = "0"  # the member that says that a lazy window is warm
WHOLE: Final = 0.0  # its scores: the window holds all there is,
CUT: Final = -1.0  # there is more in SQL,
MAKING: Final = -2.0  # it is being made, and for readers cold


@dataclass(frozen=True)
class Watch:
    """A table whose changes concern a mirror.

    model: the model whose table is watched (a through model for many-to-many).
    columns: the database columns whose values make the key of a change, before and after it;
        several are joined with ":". Default: the primary key.
    via: for a table that is not the mirror's own (a tag, for books): ``via(values, after, limit)``
        gives up to ``limit`` keys greater than ``after`` (None: from the start), ascending, of rows
        that the given column values touch. It runs when the change is drained, never when it is made.
    only: columns besides the key's; an UPDATE that changes none of these, and no key, is no change.
    updates: only UPDATEs are changes: rows of another table come and go with these, and tell of that.
    whole: the key is always "", for a mirror whose only key that is.
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
        """The table's name in SQL."""
        return str(self.model._meta.db_table)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that make a change's key; none if it is always ""."""
        if self.whole:
            return ()
        if self.columns:
            return (self.columns,) if isinstance(self.columns, str) else self.columns
        pk = self.model._meta.pk
        assert pk is not None
        return (str(pk.column),)

    @property
    def source(self) -> str:
        """ "" where the key is the mirror's own; else the name of the table it has to be looked up from."""
        return self.table if self.via or self.pushed else ""


@dataclass(frozen=True)
class Family:
    """Keys of one shape that a mirror owns, so that what should not be there can be found.

    start: what every key of the family begins with, as in Redis; a whole key when ``whole``.
    end: what every key of the family ends with, where the start is others' too.
    owner: from (key, member or field or value) to the change key of the row that would contribute it.
    """

    start: str
    kind: Kind
    owner: Callable[[str, str], str]
    whole: bool = False
    end: str = ""

    def has(self, key: str) -> bool:
        """Whether ``key`` is of this family."""
        if self.whole:
            return key == self.start
        return key.startswith(self.start) and key.endswith(self.end)


class Mirror:
    """Rows with a record of their own: ``key(id)`` holds what ``record`` says, as JSON or a hash."""

    name: ClassVar[str]
    version: ClassVar[int] = 1  # a new layout of keys or records takes a new number
    model: ClassVar[type[Model]]
    watches: ClassVar[Sequence[Watch]]
    record_kind: ClassVar[Literal["json", "hash"]] = "json"
    has_record: ClassVar[bool] = True  # whether each row has a key of its own
    strict: ClassVar[bool] = False  # access or privacy: readers see each change within seconds, whatever failed

    def key(self, pk: str) -> str:
        """The name of the record of row ``pk``: always the same text around it."""
        raise NotImplementedError

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Rows by key, from SQL, in a fixed number of queries; left out: gone or filtered away."""
        raise NotImplementedError

    def record(self, row: Any) -> Record:
        """What the row's own key says. JSON-able; for a hash, text to text. Pure."""
        raise NotImplementedError

    def index(self, record: Record) -> Iterable[Contribution]:
        """Entries elsewhere, from the record alone, each at most once. Pure."""
        return ()

    def families(self) -> Sequence[Family]:
        """The key families in which ``index`` places entries."""
        return ()

    def rows_behind(self, record: Record) -> Iterable[tuple[type[Model], Any]]:
        """Return the watched rows of other tables that the record was made from: model, key of its change. Pure.

        A strict mirror names those whose pending changes make the record out of date (a session's user).
        """
        return ()

    def extra_commands(self, records: Mapping[str, Any]) -> list[Command]:
        """Commands that go to Redis with these rows' records, in the same transaction (None: the row is gone).

        A record is as Redis has it. For facts of the other direction, which Redis may have in a newer form: the
        commands only add what is missing, and may run twice. Nothing compares what they write.
        """
        return []

    def retired(self) -> Sequence[str]:
        """Starts of keys that earlier versions used and a rebuild removes."""
        return ()

    def feed(self) -> str | None:
        """The stream that tells of changed entries (see ``mirror.local``), or None for no stream."""
        return None

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """The next ``limit`` primary keys in ascending order (keyset; never OFFSET)."""
        rows = self.model._base_manager.using(setting("DATABASE")).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=after)
        return [str(pk) for pk in rows.values_list("pk", flat=True)[:limit]]

    def pk_of(self, key: str) -> str | None:
        """The row whose record ``key`` is, or None if it is not the name of a record of this mirror."""
        start, _, end = self.key("\0").partition("\0")
        if not (key.startswith(start) and key.endswith(end)):
            return None
        pk = key[len(start) : len(key) - len(end)]
        field = self.model._meta.pk
        assert field is not None
        if len(pk) < 10 and pk.isdecimal() and pk.isascii() and isinstance(field, IntegerField):  # nearly all, quickly
            return pk if pk == "0" or pk[0] != "0" else None
        return pk if _fits(field, pk) else None

    def is_possible(self, pk: str) -> bool:
        """Whether a row could have this key, by the types of the columns that make it (a stray's may be anything)."""
        watch = next((w for w in self.watches if not w.source and w.model is self.model), None)
        if watch is None:
            return True
        columns = watch.key_columns
        if not columns:
            return pk == ""
        parts = pk.split(":") if len(columns) > 1 else [pk]
        fields = [f for c in columns for f in watch.model._meta.concrete_fields if f.column == c]
        return len(parts) == len(fields) and all(map(_fits, fields, parts))


def _primary(model: type[Model]) -> "Field[Any, Any]":
    pk = model._meta.pk
    assert pk is not None
    return pk


def _fits(field: "Field[Any, Any]", text: str) -> bool:
    """Whether a column can hold what a key says."""
    while isinstance(field, ForeignKey):
        field = field.target_field
    try:
        value = field.to_python(text)
        if isinstance(field, IntegerField):
            field.run_validators(value)  # is it small enough?
    except ValidationError:
        return False
    return str(value) == text


class EdgeMirror(Mirror):
    """Rows without a record that only come and go (a follow). Their key names both ends: "5:7"."""

    has_record = False

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """The edges among ``pks`` that exist; the values do not matter."""
        raise NotImplementedError

    def entries(self, pk: str) -> Iterable[Contribution]:
        """All that the edge may contribute while it exists. Pure."""
        raise NotImplementedError

    def present(self, pk: str, value: Any) -> Iterable[Contribution]:
        """Which of its ``entries`` the edge contributes, by what ``load`` found. Pure. Default: all."""
        return self.entries(pk)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """The next ``limit`` edges by the columns of the first watch, which make the key."""
        watch = self.watches[0]
        fields = [f.attname for c in watch.key_columns for f in watch.model._meta.concrete_fields if f.column == c]
        rows = watch.model._base_manager.using(setting("DATABASE")).order_by(*fields)
        if after is not None:
            rows = rows.filter(_greater(fields, after.split(":")))
        return [":".join(map(str, values)) for values in rows.values_list(*fields)[:limit]]


def _greater(fields: Sequence[str], values: Sequence[str]) -> Q:
    """(a, b) > (x, y), column by column."""
    condition, same = Q(pk__in=[]), Q()
    for field, value in zip(fields, values, strict=True):
        condition |= same & Q(**{f"{field}__gt": value})
        same &= Q(**{field: value})
    return condition


@dataclass(frozen=True)
class After:
    """What is to be recomputed when another mirror's change has been applied, and never before.

    mirror: the other one's name. owner: from the key of its change to the key of the own row.
    """

    mirror: str
    owner: Callable[[str], str]


class Reached(NamedTuple):
    """One window that a pushed row concerns.

    owner: the window's. member: the row's id. source: whom the row is by, as the window's sets of sources know
    them; "" where they are not asked. shown: whether the row belongs there; else it is taken away.
    """

    owner: str
    member: int
    source: str
    shown: bool


class WindowMirror(Mirror):
    """The newest rows of each owner: a sorted set, member and score the row's id, of at most ``length`` of them.

    A window is recomputed when a change names its owner. An eager one is always there (if it has members). A lazy one
    is there while it is read: it has the sentinel ``SENTINEL`` with score 0 if it holds all there is and -1 if there is
    more in SQL; without the sentinel it is cold. Lazy windows can have rows pushed into them.
    """

    has_record = False
    length: ClassVar[int]
    lazy: ClassVar[bool] = False
    life_seconds: ClassVar[int] = 0  # of a lazy window that nobody reads; 0: for ever
    after: ClassVar[Sequence[After]] = ()

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """The windows of ``pks``; what is left out is empty."""
        return self.newest(pks, self.length + 1 if self.lazy else self.length)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        """Up to ``limit`` ids for each owner, newest first, from SQL, in a fixed number of queries."""
        raise NotImplementedError

    @classmethod
    def is_of_rows(cls) -> bool:
        """Whether the owners are rows of ``model`` (and windows of others those of what ``keys_after`` lists)."""
        return cls.keys_after is Mirror.keys_after

    def is_possible(self, pk: str) -> bool:
        return _fits(_primary(self.model), pk) if self.is_of_rows() else super().is_possible(pk)

    def owners(self, pks: Sequence[str]) -> set[str]:
        """Which of ``pks`` there is an owner for, in SQL: only they have a lazy window. Default: rows of ``model``."""
        possible = [pk for pk in pks if _fits(_primary(self.model), pk)]
        rows = self.model._base_manager.using(setting("DATABASE")).filter(pk__in=possible)
        return {str(pk) for pk in rows.values_list("pk", flat=True)}

    def reach(self, rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
        """Up to ``limit`` windows that these pushed rows concern, by owner; those of owners behind ``after`` alone.

        ``rows`` are keys of changes: a row may have gone since. More than one row only without ``after``. Whether a row
        is shown may depend on the row itself, on ``sources``, and on tables that are watched with ``via``; else a
        delivery that comes late could undo what a recompute has put right.
        """
        raise NotImplementedError

    def sources(self, owner: str) -> tuple[str, str]:
        """Two sets in the window's slot: whose rows it shows, and whose it does not, whatever the first one says.

        Mirrors in ``after`` keep them. A row that comes late, by somebody who has been left, is refused by them.
        """
        raise NotImplementedError


class SummaryMirror(Mirror):
    """One key that sums up many rows (the last logins): recomputed whole at every change."""

    def items(self) -> list[str]:
        """The whole list, from SQL, bounded."""
        raise NotImplementedError

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        """There is one key, whatever it sums up."""
        return [""] if after is None else []


class TableMirror(Mirror):
    """Rows from which other rows are made, in SQL as well (a search index): kept by the outbox, without Redis.

    A drain replaces the made rows and marks the changes in one transaction, so it needs no record to compare with.
    """

    has_record = False
    batch: ClassVar[int] = 100  # rows in one transaction
    tables: ClassVar[str]  # names the tables that are written: mirrors of one name take turns

    def replace(self, pks: Sequence[str], rows: Mapping[str, Any]) -> None:
        """Make what is stored for ``pks`` equal ``rows``, by key as ``load`` gives them; nothing for those left out."""
        raise NotImplementedError

    def stored(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return what is stored, by key; equal to what ``load`` gives where it is right."""
        raise NotImplementedError

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        """Return the next ``limit`` keys for which something is stored (keyset)."""
        raise NotImplementedError
