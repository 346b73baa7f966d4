"""What has to be written to the outbox when: one trigger per table and operation, for all mirrors together.

``capture_sqlite`` and ``capture_postgres`` say the same in their own SQL.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from mirror import registry
from mirror.declare import Watch
from mirror.models import Change
from mirror.outbox import WHOLE

Operation = Literal["insert", "update", "delete", "truncate"]
MARK = "/* mirror: made after each migrate */"  # by this our triggers are known from others'
LONGEST_NAME = 63  # bytes; PostgreSQL cuts off the rest


class Insert(NamedTuple):
    """One INSERT of a trigger. Without columns it says that the whole mirror is concerned."""

    mirror: str
    source: str = ""
    columns: tuple[str, ...] = ()
    unique: bool = True  # no two rows of a statement have the same key

    def head(self, outbox: str) -> str:
        """What every such INSERT begins with, up to the key."""
        return f"INSERT INTO {outbox} (mirror, source, key) SELECT {literal(self.mirror)}, {literal(self.source)},"


class Trigger(NamedTuple):
    """What happens after ``operation`` on ``table``."""

    name: str
    table: str
    operation: Operation
    inserts: tuple[Insert, ...]


class Definition(NamedTuple):
    """A trigger as the database has it, or should have it. Equal ones do the same."""

    name: str
    table: str
    shape: tuple[str, ...]  # when and on what it fires
    body: str


class Capture(ABC):
    """What a database can do, and how it is told."""

    operations: Sequence[Operation]

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        self.quote = connection.ops.quote_name
        self.outbox = Change._meta.db_table

    def tables(self) -> set[str]:
        """The tables that exist."""
        return set(self.connection.introspection.table_names())

    def wanted(self) -> list[Trigger]:
        """The triggers that the registered mirrors need on tables that exist."""
        tables = self.tables()
        return triggers(self.operations, tables) if self.outbox in tables else []

    def run(self, statements: Iterable[str]) -> None:
        """Execute statements as they are."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def lock(self) -> None:
        """Keep others from installing until the end of the transaction."""
        return

    @abstractmethod
    def found(self) -> dict[str, Definition]:
        """The mirror's triggers that the database has, by name."""

    @abstractmethod
    def define(self, trigger: Trigger) -> Definition:
        """What the database should have."""

    @abstractmethod
    def statement(self, insert: Insert, operation: Operation) -> str:
        """One INSERT in SQL, on one line."""

    @abstractmethod
    def create(self, definition: Definition) -> list[str]:
        """The SQL that makes a trigger."""

    @abstractmethod
    def drop(self, definition: Definition) -> list[str]:
        """The SQL that takes a trigger away."""


def literal(text: str) -> str:
    """``text`` as a string in SQL."""
    return "'" + text.replace("'", "''") + "'"


def triggers(operations: Iterable[Operation], tables: set[str]) -> list[Trigger]:
    """The triggers for all registered mirrors on ``tables``, in a fixed order.

    Raises ImproperlyConfigured for a column that does not exist: such a trigger would fail every write.
    """
    by_table: dict[str, dict[Insert, None]] = defaultdict(dict)
    for mirror in registry.all_mirrors():
        for watch in mirror.watches:
            if watch.table in tables:
                by_table[watch.table][_insert(mirror.name, watch)] = None
    return [
        Trigger(trigger_name(table, operation), table, operation, _inserts(operation, inserts))
        for table, inserts in sorted(by_table.items())
        for operation in operations
    ]


def _inserts(operation: Operation, inserts: Iterable[Insert]) -> tuple[Insert, ...]:
    if operation == "truncate":
        return tuple(dict.fromkeys(Insert(insert.mirror) for insert in inserts))
    return tuple(inserts)


def _insert(mirror: str, watch: Watch) -> Insert:
    if unknown := unknown_columns(watch):
        raise ImproperlyConfigured(f"mirror {mirror!r} watches {watch.table}.{unknown[0]}, and there is no such column")
    pk = watch.model._meta.pk
    return Insert(mirror, watch.source, watch.key_columns, pk is not None and pk.column in watch.key_columns)


def columns(model: type[Model]) -> set[str]:
    """The columns of a model's own table."""
    concrete = model._meta.concrete_model or model
    return {str(field.column) for field in concrete._meta.local_concrete_fields}


def unknown_columns(watch: Watch) -> list[str]:
    """The watched columns that the table does not have."""
    return [column for column in watch.key_columns if column not in columns(watch.model)]


def trigger_name(table: str, operation: Operation) -> str:
    """The name of a trigger (and its function): says the table, or as much of it as fits and a digest."""
    name = f"mirror_{table}_{operation}"
    if len(name.encode()) <= LONGEST_NAME and '"' not in table:
        return name
    digest = hashlib.sha256(table.encode()).hexdigest()[:12]
    head = table.replace('"', "").encode()[:30].decode(errors="ignore")
    return f"mirror_{head}_{digest}_{operation}"


__all__ = [
    "MARK",
    "WHOLE",
    "Capture",
    "Definition",
    "Insert",
    "Operation",
    "Trigger",
    "columns",
    "literal",
    "trigger_name",
    "triggers",
    "unknown_columns",
]
