"""The plan of capture: one trigger per table and operation, for all mirrors together.

``capture.sqlite`` and ``capture.postgres`` write it in their SQL.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from django.apps import apps as django_apps
from django.db.backends.base.base import BaseDatabaseWrapper

from mirror import registry
from mirror.capture.statements import Insert, Operation, inserts, select_inserts
from mirror.models import Change

MARK: Final = "/* mirror: made after each migrate */"  # identifies the triggers of this application
LONGEST_NAME: Final = 63  # in bytes; PostgreSQL truncates longer names
BULK_LOAD: Final = "bulk load"  # the mark of a transaction that loads rows in bulk
NO_TABLE: Final = "no such table"
COLUMN: Final = "column "  # precedes the name of a column that has a stamp; no trigger is called so


class Relation(NamedTuple):
    """A table as the database has it.

    name: in SQL, quoted if necessary. exact: the columns whose values are the same bytes if they are equal, as far as
    the database tells. obstacle: why no trigger can capture all its changes, or "". has_parts: it is
    divided into partitions, or is a part of another table, so that statements may name the other one.
    """

    name: str
    columns: frozenset[str]
    obstacle: str = ""
    has_parts: bool = False
    exact: frozenset[str] = frozenset()


class Trigger(NamedTuple):
    """The statements after ``operation`` on a table."""

    name: str
    relation: Relation
    operation: Operation
    inserts: tuple[Insert, ...]

    def find_mirrors(self, stamps: Collection[str]) -> set[str]:
        """Return the mirrors that may have missed changes if the stamps with these names have changed."""
        if self.name in stamps:
            return {insert.mirror for insert in self.inserts}
        found: set[str] = set()
        if self.operation == "truncate":  # it names no columns
            return found
        for name in stamps:
            _, is_of_table, column = name.partition(f"{COLUMN}{self.relation.name}.")
            if is_of_table:
                found.update(insert.mirror for insert in self.inserts if insert.depends_on(column))
        return found


class Gap(NamedTuple):
    """A watched table whose changes no trigger can capture at present, and the mirrors that watch it."""

    table: str
    reason: str
    mirrors: tuple[str, ...]
    is_lasting: bool = False  # no migration of columns or tables will close it


class Definition(NamedTuple):
    """A trigger as it exists or should exist. Equal definitions have the same effect."""

    name: str
    table: str
    shape: tuple[str, ...]  # when the trigger fires
    body: str


class Capture(ABC):
    """The abilities and the SQL of one database vendor."""

    keeps_columns: ClassVar[bool] = False  # whether the database drops no column that a trigger names

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        self.quote = connection.ops.quote_name
        self.outbox = str(Change._meta.db_table)

    def wanted(self) -> list[Trigger]:
        """Return the triggers that the registered mirrors need on existing tables; none without the outbox.

        One query. Raises ImproperlyConfigured for a column that the model does not have.
        """
        return self.survey()[0]

    def survey(self) -> tuple[list[Trigger], list[Gap]]:
        """Return these triggers, and the watched tables with changes that none of them captures."""
        by_table = {table: [insert.rename(self.name_column) for insert in found] for table, found in inserts().items()}
        tables = dict.fromkeys(by_table) | dict.fromkeys(own_tables())
        relations = self.relations(list(tables))
        if self.outbox not in relations:
            every_mirror = tuple(mirror.name for mirror in registry.all_mirrors())
            return [], [Gap(self.outbox, NO_TABLE, every_mirror)]
        wanted = self._find_wanted(by_table, relations)
        own = {table: relations[table] for table in own_tables() if table in relations}
        return wanted + self.wanted_on_own(own), _find_gaps(by_table, relations)

    def _find_wanted(
        self, by_table: Mapping[str, Sequence[Insert]], relations: Mapping[str, Relation]
    ) -> list[Trigger]:
        found: list[Trigger] = []
        for table, wanted in sorted(by_table.items()):
            relation = relations.get(table)
            if relation is not None and not relation.obstacle:
                found += self._list_triggers(table, relation, wanted)
        return found

    def _list_triggers(self, table: str, relation: Relation, wanted: Iterable[Insert]) -> Iterator[Trigger]:
        """Yield one trigger for each operation, for all mirrors together: each trigger costs every write."""
        # The migration of a column may follow. Then the next migrate installs its triggers.
        present: list[Insert] = []
        for insert in wanted:
            if insert.named <= relation.columns:
                exact = tuple(column for column in insert.compared if column in relation.exact)
                present.append(insert._replace(exact=exact))
        for operation in self.operations(relation):
            inserts = select_inserts(operation, present)
            if inserts:
                yield Trigger(trigger_name(table, operation), relation, operation, inserts)

    def name_column(self, column: str) -> str:
        """Return the name that the database gives to a column which a model calls ``column``."""
        return column

    def wanted_on_own(self, relations: Mapping[str, Relation]) -> list[Trigger]:
        """Return the triggers of the mirror's own tables."""
        return []

    def run(self, statements: Iterable[str]) -> None:
        """Execute statements without parameters."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    @abstractmethod
    def begin_bulk_load(self, tables: Collection[str]) -> None:
        """Let inserts into these tables append changes of everything, until ``end_bulk_load`` in this transaction.

        Only those of this transaction: no other one is concerned, and a rollback ends it.
        """

    @abstractmethod
    def end_bulk_load(self, tables: Collection[str]) -> None:
        """Let inserts of this transaction into these tables append changes of their rows again."""

    @abstractmethod
    def lock(self) -> None:
        """Exclude other installations until the end of the transaction."""

    @abstractmethod
    def relations(self, tables: Sequence[str]) -> dict[str, Relation]:
        """Return the existing ones among ``tables``, which are named as models name them."""

    @abstractmethod
    def operations(self, relation: Relation) -> Sequence[Operation]:
        """Return the operations that need a trigger of their own."""

    @abstractmethod
    def found(self) -> dict[str, Definition]:
        """Return the mirror's triggers in the database, by name."""

    @abstractmethod
    def stamps(self) -> dict[str, str]:
        """Return a stamp of each of these triggers, which changes when it is created, dropped, altered or disabled.

        A column has a stamp (``COLUMN``, its table in SQL, a dot, its name) if its values can change without a trigger.
        The stamps of a table with partitions also change when a partition is attached, detached or emptied, and those
        of other tables when they begin or cease to inherit. The stamp with the name "" changes with the names of these
        tables and of their columns, and the rights on the outbox.
        """

    def weak(self) -> list[str]:
        """Return the SQL for triggers that capture ordinary writes, but not exactly the others that they should."""
        return []

    def is_alive(self, should: Definition, was: Definition) -> bool:
        """Return whether a trigger fires when it should, at least for ordinary writes."""
        return should.shape == was.shape

    @abstractmethod
    def define(self, trigger: Trigger) -> Definition:
        """Return the trigger as it should exist."""

    @abstractmethod
    def statement(self, insert: Insert, operation: Operation) -> str:
        """Return what a trigger does for one mirror, on one line of its body."""

    @abstractmethod
    def create(self, definition: Definition) -> list[str]:
        """Return the SQL that creates a trigger."""

    def replace(self, definition: Definition, was: Definition) -> list[str]:
        """Return the SQL that puts a trigger in the place of another one with its name."""
        return [*self.drop(was), *self.create(definition)]

    @abstractmethod
    def drop(self, definition: Definition) -> list[str]:
        """Return the SQL that drops a trigger."""


def truncate(name: str) -> str:
    """Return a name as PostgreSQL keeps it: without the bytes, or the half character, beyond its limit."""
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


def own_tables() -> list[str]:
    """Return the tables of the mirror itself; the outbox is the first."""
    models = sorted(django_apps.get_app_config("mirror").get_models(), key=lambda model: model is not Change)
    return [str(model._meta.db_table) for model in models]


def _find_gaps(by_table: Mapping[str, Sequence[Insert]], relations: Mapping[str, Relation]) -> list[Gap]:
    found: list[Gap] = []
    for table, wanted in sorted(by_table.items()):
        relation = relations.get(table)
        if relation is None:
            found.append(Gap(table, NO_TABLE, _mirrors_of(wanted)))
        elif relation.obstacle:
            found.append(Gap(table, relation.obstacle, _mirrors_of(wanted), is_lasting=True))
        else:
            found += _find_missing_columns(table, wanted, relation)
    return found


def _find_missing_columns(table: str, wanted: Sequence[Insert], relation: Relation) -> list[Gap]:
    """Return a gap for each column that statements name and the table does not have."""
    losing: dict[str, list[Insert]] = defaultdict(list)
    for insert in wanted:
        for column in insert.named - relation.columns:
            losing[column].append(insert)
    return [Gap(table, f"no column {column!r}", _mirrors_of(inserts)) for column, inserts in sorted(losing.items())]


def _mirrors_of(inserts: Iterable[Insert]) -> tuple[str, ...]:
    names = {insert.mirror for insert in inserts}
    return tuple(sorted(names))


def trigger_name(table: str, operation: Operation) -> str:
    """Return the name of a trigger and its function.

    It has a digest if the table's name is too long, or has quotes because it names a schema (``inventory"."book``).
    """
    name = f"mirror_{table}_{operation}"
    if len(name.encode()) <= LONGEST_NAME and '"' not in name:
        return name
    digest = hashlib.sha256(table.encode()).hexdigest()[:12]
    start = table.replace('"', "").encode()[:30].decode(errors="ignore")
    return f"mirror_{start}_{digest}_{operation}"
