"""The plan of capture: one trigger per table and operation, for all mirrors together.

``capture.sqlite`` and ``capture.postgres`` write it in their SQL.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror import registry
from mirror.declare.watches import Watch
from mirror.models import Change
from mirror.outbox import changes

Operation = Literal["insert", "update", "delete", "truncate"]
MARK: Final = "/* mirror: made after each migrate */"  # identifies the triggers of this application
LONGEST_NAME: Final = 63  # in bytes; PostgreSQL truncates longer names
WHOLE: Final = changes.WHOLE


class Insert(NamedTuple):
    """One INSERT statement of a trigger."""

    mirror: str
    source: str = ""
    columns: tuple[str, ...] = ()  # form the key; without columns the key is ""
    unique: bool = True  # no two rows of a statement have the same key
    primary: tuple[str, ...] = ()  # set if only some UPDATEs are changes:
    compared: tuple[str, ...] = ()  # those where one of these columns differs
    updates: bool = False  # only UPDATEs are changes

    @property
    def named(self) -> set[str]:
        """Return all columns in the statement."""
        return {*self.columns, *self.compared}

    def head(self, table: str) -> str:
        """Return the beginning of the INSERT into the outbox, up to the key."""
        return f"INSERT INTO {table} (mirror, source, key) SELECT {literal(self.mirror)}, {literal(self.source)},"


class Trigger(NamedTuple):
    """The statements after ``operation`` on ``table``."""

    name: str
    table: str
    operation: Operation
    inserts: tuple[Insert, ...]


class Definition(NamedTuple):
    """A trigger as it exists or should exist. Equal definitions have the same effect."""

    name: str
    table: str
    shape: tuple[str, ...]  # when the trigger fires
    body: str


class Capture(ABC):
    """The abilities and the SQL of one database vendor."""

    operations: Sequence[Operation]

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        self.quote = connection.ops.quote_name
        self.outbox = str(Change._meta.db_table)

    def wanted(self) -> list[Trigger]:
        """Return the triggers that the registered mirrors need on existing tables; none without the outbox.

        One query. Raises ImproperlyConfigured for a column that the model does not have.
        """
        by_table = inserts()
        columns = self.columns([*by_table, self.outbox])
        if self.outbox not in columns:
            return []
        return [
            Trigger(trigger_name(table, operation), table, operation, concerned)
            for table, wanted in sorted(by_table.items())
            if table in columns
            # The migration of a table or column may follow. Then the next migrate installs its triggers.
            for present in [[insert for insert in wanted if insert.named <= columns.get(table, set())]]
            for operation in self.operations
            if (concerned := _for(operation, present))
        ] + self.wanted_on_outbox()

    def wanted_on_outbox(self) -> list[Trigger]:
        """Return the triggers of the outbox itself."""
        return []

    def run(self, statements: Iterable[str]) -> None:
        """Execute statements without parameters."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    @abstractmethod
    def lock(self) -> None:
        """Exclude other installations until the end of the transaction."""

    @abstractmethod
    def columns(self, tables: Sequence[str]) -> dict[str, set[str]]:
        """Return the columns of the existing ones among ``tables``."""

    @abstractmethod
    def found(self) -> dict[str, Definition]:
        """Return the mirror's triggers in the database, by name."""

    @abstractmethod
    def stamps(self) -> dict[str, str]:
        """Return a stamp of each of these triggers, which changes when it is created, dropped, altered or disabled."""

    def weak(self) -> list[str]:
        """Return the SQL that makes triggers fire for all writes, if some fire only for most."""
        return []

    def is_alive(self, should: Definition, was: Definition) -> bool:
        """Return whether a trigger fires when it should, at least for ordinary writes."""
        return should.shape == was.shape

    @abstractmethod
    def define(self, trigger: Trigger) -> Definition:
        """Return the trigger as it should exist."""

    @abstractmethod
    def statement(self, insert: Insert, operation: Operation) -> str:
        """Return an INSERT statement, on one line."""

    @abstractmethod
    def create(self, definition: Definition) -> list[str]:
        """Return the SQL that creates a trigger."""

    @abstractmethod
    def drop(self, definition: Definition) -> list[str]:
        """Return the SQL that drops a trigger."""


def literal(text: str) -> str:
    """Return ``text`` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def inserts() -> dict[str, list[Insert]]:
    """Return the statements that the registered mirrors need, by table, without duplicates."""
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
    # The primary key is compared too, because a row's data may depend on it.
    compared = tuple(dict.fromkeys((*primary, *key, *watch.only)))
    return Insert(mirror, watch.source, key, unique, primary, compared, watch.updates)


def unknown_columns(watch: Watch) -> list[str]:
    """Return the watched columns that the model's own table does not have."""
    model = watch.model._meta.concrete_model or watch.model
    known = {field.column for field in model._meta.local_concrete_fields}
    return [column for column in (*watch.key_columns, *watch.only) if column not in known]


def trigger_name(table: str, operation: Operation) -> str:
    """Return the name of a trigger and its function, with a digest if the table's name is too long."""
    name = f"mirror_{table}_{operation}"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(table.encode()).hexdigest()[:12]
    return f"mirror_{table.encode()[:30].decode(errors='ignore')}_{digest}_{operation}"
