"""What has to be written to the outbox when: one trigger per table and operation, for all mirrors together.

``capture_sqlite`` and ``capture_postgres`` say the same in their own SQL.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror import outbox, registry
from mirror.declare import Watch
from mirror.models import Change

Operation = Literal["insert", "update", "delete", "truncate"]
MARK: Final = "/* mirror: made after each migrate */"  # by this our triggers are known from others'
LONGEST_NAME: Final = 63  # bytes; PostgreSQL cuts off the rest
WHOLE: Final = outbox.WHOLE


class Insert(NamedTuple):
    """One INSERT of a trigger."""

    mirror: str
    source: str = ""
    columns: tuple[str, ...] = ()  # make the key; none: the key is ""
    unique: bool = True  # no two rows of a statement have the same key
    primary: tuple[str, ...] = ()  # known for an UPDATE that is not always a change:
    compared: tuple[str, ...] = ()  # it is one of a row where one of these differs
    updates: bool = False  # nothing but an UPDATE is a change

    @property
    def named(self) -> set[str]:
        """All columns that its statements name."""
        return {*self.columns, *self.compared}

    def head(self, table: str) -> str:
        """What such an INSERT into the outbox begins with, up to the key."""
        return f"INSERT INTO {table} (mirror, source, key) SELECT {literal(self.mirror)}, {literal(self.source)},"


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
        self.outbox = str(Change._meta.db_table)

    def wanted(self) -> list[Trigger]:
        """The triggers that the registered mirrors need on tables that exist (none without the outbox).

        Raises ImproperlyConfigured for a column that the model does not have.
        """
        by_table = inserts()
        columns = self.columns([*by_table, self.outbox])
        return [
            Trigger(trigger_name(table, operation), table, operation, concerned)
            for table, wanted in sorted(by_table.items())
            if self.outbox in columns
            # A table or column may have its migration still before it: then it is for the next time.
            for present in [[insert for insert in wanted if insert.named <= columns.get(table, set())]]
            for operation in self.operations
            if (concerned := _for(operation, present))
        ]

    def run(self, statements: Iterable[str]) -> None:
        """Execute statements as they are."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    @abstractmethod
    def lock(self) -> None:
        """Keep others from installing until the end of the transaction."""

    @abstractmethod
    def columns(self, tables: Sequence[str]) -> dict[str, set[str]]:
        """The columns of those of ``tables`` that exist."""

    @abstractmethod
    def found(self) -> dict[str, Definition]:
        """The mirror's triggers that the database has, by name."""

    @abstractmethod
    def stamps(self) -> dict[str, str]:
        """Something of each of these triggers that changes whenever it is made, dropped, altered or disabled."""

    def weak(self) -> list[str]:
        """The SQL that has triggers fire for every write which now fire for most."""
        return []

    def is_alive(self, should: Definition, was: Definition) -> bool:
        """Whether a trigger fires when it should, at least for ordinary writes."""
        return should.shape == was.shape

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


def inserts() -> dict[str, list[Insert]]:
    """What the registered mirrors want to know, by table, each thing once."""
    by_table: dict[str, dict[Insert, None]] = defaultdict(dict)
    for mirror in registry.all_mirrors():
        for watch in mirror.watches:
            by_table[watch.table][_insert(mirror.name, watch)] = None
    return {table: list(found) for table, found in by_table.items()}


def _for(operation: Operation, inserts: Iterable[Insert]) -> tuple[Insert, ...]:
    concerned = [insert for insert in inserts if operation == "update" or not insert.updates]
    if operation == "truncate":
        return tuple(dict.fromkeys(Insert(insert.mirror) for insert in concerned))
    return tuple(concerned)


def _insert(mirror: str, watch: Watch) -> Insert:
    if unknown := unknown_columns(watch):
        # Such a trigger would make every write fail.
        raise ImproperlyConfigured(f"mirror {mirror!r} watches {watch.table}.{unknown[0]}, and there is no such column")
    key, primary = watch.key_columns, tuple(str(field.column) for field in watch.model._meta.pk_fields)
    unique = set(primary) <= set(key)
    if not watch.only:
        return Insert(mirror, watch.source, key, unique, updates=watch.updates)
    # What is made of the row may depend on which row it is.
    compared = tuple(dict.fromkeys((*primary, *key, *watch.only)))
    return Insert(mirror, watch.source, key, unique, primary, compared, watch.updates)


def unknown_columns(watch: Watch) -> list[str]:
    """The watched columns that the model's own table does not have."""
    model = watch.model._meta.concrete_model or watch.model
    known = {field.column for field in model._meta.local_concrete_fields}
    return [column for column in (*watch.key_columns, *watch.only) if column not in known]


def trigger_name(table: str, operation: Operation) -> str:
    """The name of a trigger (and its function): says the table, or as much of it as fits and a digest."""
    name = f"mirror_{table}_{operation}"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(table.encode()).hexdigest()[:12]
    return f"mirror_{table.encode()[:30].decode(errors='ignore')}_{digest}_{operation}"
