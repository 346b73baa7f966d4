"""Watched tables in SQL, and families of keys in Redis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import Model

Kind = Literal["set", "zset", "hash", "string", "list", "bitmap"]


@dataclass(frozen=True)
class After:
    """A dependency: an applied change of another mirror orders a change of this one, never earlier.

    mirror: the name of the other mirror. owner: returns the key of this mirror for a key of the other one.
    """

    mirror: str
    owner: Callable[[str], str]


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
    inserts: False if an INSERT is no change, because the rows that depend on the new one are inserted after it into
        another watched table.
    whole: the key is always "", for a mirror with this single key.
    pushed: the rows are pushed into the windows of a ``WindowMirror`` (see ``WindowMirror.reach``).
    """

    model: type[Model]
    columns: str | tuple[str, ...] = ()
    via: Callable[[Sequence[str], str | None, int], list[str]] | None = None
    only: tuple[str, ...] = ()
    inserts: bool = True
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
        if self.via or self.pushed:
            return self.table
        return ""


@dataclass(frozen=True)
class Family:
    """Keys of one form that a mirror owns. They are searched for strays.

    start: the beginning of every key of the family; the whole key if ``whole``. end: the end of every key, if other
    families share the start. owner: returns, for (key, member or field or value), the key of the row that would
    contribute it. owners: the same for many members of a key at once, if that saves queries.
    """

    start: str
    kind: Kind
    owner: Callable[[str, str], str]
    whole: bool = False
    end: str = ""
    owners: Callable[[str, Sequence[str]], Sequence[str]] | None = None

    def find_owners(self, key: str, members: Sequence[str]) -> Sequence[str]:
        """Return the keys of the rows that would contribute these members."""
        if self.owners:
            return self.owners(key, members)
        return [self.owner(key, member) for member in members]

    def has(self, key: str) -> bool:
        """Return whether ``key`` belongs to this family."""
        if self.whole:
            return key == self.start
        return key.startswith(self.start) and key.endswith(self.end)
