"""The statements that triggers execute, as the declarations of the mirrors demand them, in no database's SQL yet."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Final, Literal, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import models

from mirror import registry
from mirror.declare.paths import find_value_field
from mirror.declare.watches import Watch
from mirror.outbox import changes

# "row" is the trigger for each row on PostgreSQL, which has the three others for each statement.
Operation = Literal["insert", "update", "delete", "truncate", "row"]
WHOLE: Final = changes.WHOLE


class Insert(NamedTuple):
    """One INSERT statement of a trigger."""

    mirror: str
    source: str = ""
    columns: tuple[str, ...] = ()  # form the key; without columns the key is ""
    unique: bool = True  # no two rows of a statement have the same key
    primary: tuple[str, ...] = ()  # set if only some UPDATEs are changes:
    compared: tuple[str, ...] = ()  # those where one of these columns differs
    captures_inserts: bool = True  # whether an INSERT is a change
    uuids: tuple[str, ...] = ()  # those of ``columns`` that hold UUIDs, which a database may store as other text
    exact: tuple[str, ...] = ()  # those of ``compared`` whose values are the same bytes if they are equal

    @property
    def named(self) -> set[str]:
        """Return all columns in the statement."""
        return {*self.columns, *self.compared}

    def depends_on(self, column: str) -> bool:
        """Return whether the values of a column may matter to the mirror: all may if none are compared."""
        return not self.compared or column in self.compared

    def rename(self, name_of: Callable[[str], str]) -> "Insert":
        """Return this statement with other names of columns."""
        return self._replace(
            columns=tuple(map(name_of, self.columns)),
            primary=tuple(map(name_of, self.primary)),
            compared=tuple(map(name_of, self.compared)),
            uuids=tuple(map(name_of, self.uuids)),
        )

    def head(self, table: str) -> str:
        """Return the beginning of the INSERT into the outbox, up to the key."""
        return f"INSERT INTO {table} (mirror, source, key) SELECT {literal(self.mirror)}, {literal(self.source)},"


def literal(text: str) -> str:
    """Return ``text`` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def inserts() -> dict[str, list[Insert]]:
    """Return the statements that the registered mirrors need, by table, without duplicates."""
    # Dictionaries with the value None are ordered sets: the order is that of the lines in the triggers.
    by_table: dict[str, dict[Insert, None]] = defaultdict(dict)
    for mirror in registry.all_mirrors():
        for watch in mirror.watches:
            insert = _build_insert(mirror.name, watch)
            by_table[watch.table][insert] = None
    return {table: list(found) for table, found in by_table.items()}


def find_filled_mirrors(tables: Collection[str]) -> list[str]:
    """Return the names of the mirrors that new rows in one of these tables change, in the order of registration."""
    filled: set[str] = set()
    for table, statements in inserts().items():
        if table in tables:
            filled.update(statement.mirror for statement in statements if statement.captures_inserts)
    return [mirror.name for mirror in registry.all_mirrors() if mirror.name in filled]


def select_inserts(operation: Operation, inserts: Iterable[Insert]) -> tuple[Insert, ...]:
    """Return those of the statements that a trigger for this operation has, each once."""
    if operation == "insert":
        return tuple(insert for insert in inserts if insert.captures_inserts)
    if operation == "row":
        # A partition key or a row filter turns an UPDATE into an INSERT or a DELETE.
        inserts = [insert._replace(captures_inserts=True) for insert in inserts]
    elif operation == "truncate":
        # A change of everything, whatever the key is
        inserts = [Insert(insert.mirror) for insert in inserts]
    return tuple(dict.fromkeys(inserts))


def _build_insert(mirror: str, watch: Watch) -> Insert:
    unknown = unknown_columns(watch)
    if unknown:
        # Such a trigger would make every write fail.
        raise ImproperlyConfigured(f"mirror {mirror!r} watches {watch.table}.{unknown[0]}, and there is no such column")
    key = watch.key_columns
    primary = tuple(str(field.column) for field in watch.model._meta.pk_fields)
    insert = Insert(
        mirror,
        watch.source,
        columns=key,
        unique=set(primary) <= set(key),
        captures_inserts=watch.inserts,
        uuids=_find_uuids(watch),
    )
    if not watch.only:
        return insert
    # The primary key is compared too, because a row's data may depend on it.
    compared = dict.fromkeys(primary + key + tuple(watch.only))
    return insert._replace(primary=primary, compared=tuple(compared))


def _find_uuids(watch: Watch) -> tuple[str, ...]:
    """Return the columns of the key that hold UUIDs."""
    fields = {str(field.column): find_value_field(field) for field in watch.model._meta.concrete_fields}
    return tuple(column for column in watch.key_columns if isinstance(fields[column], models.UUIDField))


def unknown_columns(watch: Watch) -> list[str]:
    """Return the watched columns that the model's own table does not have."""
    model = watch.model._meta.concrete_model or watch.model
    known = {field.column for field in model._meta.local_concrete_fields}
    named = list(watch.key_columns)
    named += watch.only
    return [column for column in named if column not in known]
