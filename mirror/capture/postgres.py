"""Capture on PostgreSQL.

An ordinary write fires statement triggers with transition tables, once per statement. The workers of logical
replication fire triggers for each row only, so every table also has one of these. It fires for them and in other
sessions with ``session_replication_role = replica``, where the statement triggers do not: no write is captured twice. A
statement may name a partition or the table that is divided, so these tables have the trigger for each row alone. One
more statement trigger is for TRUNCATE, which replication executes like a session.

A trigger on the outbox notifies the relay (``mirror.standalone.notices``). Rows of the mirror's own tables that arrive
by replication are ignored.

Each trigger has a function in the schema of the outbox. It runs with the rights of its owner, so that a writer needs
none on the outbox, and with a search path of its own, so that a writer cannot make it call any but PostgreSQL's own
operators.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from mirror.capture.plan import COLUMN, MARK, Capture, Definition, Relation, Trigger, trigger_name, truncate
from mirror.capture.postgres_texts import IGNORE, LOADED_TABLES, NOTIFY, Texts
from mirror.capture.statements import Insert, Operation, literal
from mirror.utils import Bounded

SEARCH_PATH: Final = "pg_catalog, pg_temp"
# pg_trigger.tgtype of an AFTER ... FOR EACH STATEMENT trigger (bits as in PostgreSQL's pg_trigger.h)
TYPES: Final[dict[Operation, int]] = {"insert": 4, "delete": 8, "update": 16, "truncate": 32, "row": 1 + 4 + 8 + 16}
PER_ROW: Final = 1
BEFORE: Final = 2
TRANSITIONS: Final[dict[Operation, str]] = {
    "insert": "NEW TABLE AS new_rows",
    "delete": "OLD TABLE AS old_rows",
    "update": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "truncate": "",
    "row": "",
}
EVENTS: Final = {str(number): operation.upper() for operation, number in TYPES.items()} | {
    str(number): "INSERT OR UPDATE OR DELETE" for number in (TYPES["row"], TYPES["row"] + BEFORE)
}

# Both queries say "tgparentid < 1" for "= 0": the catalogs have no statistics in a new database, and from the equality
# PostgreSQL expects so few triggers that it compares each function with each trigger, which takes ten times as long.

# The last column but two counts the partitions where the trigger does not fire as it does on the divided table.
FOUND: Final = """
    SELECT f.proname, COALESCE(t.tgrelid::regclass::text, ''), t.tgname, t.tgtype, t.tgenabled,
           t.tgoldtable, t.tgnewtable, t.tgqual IS NULL,
           f.prosecdef,
           has_table_privilege(f.proowner, o.oid, 'INSERT') AND has_table_privilege(f.proowner, o.oid, 'SELECT')
               AND has_sequence_privilege(f.proowner, pg_get_serial_sequence(o.oid::regclass::text, 'id'), 'UPDATE'),
           (SELECT count(*) FROM pg_partition_tree(t.tgrelid) p
             WHERE p.level > 0 AND (t.tgtype & 1) > 0
               AND NOT EXISTS (SELECT FROM pg_trigger k WHERE k.tgrelid = p.relid AND k.tgfoid = f.oid
                                  AND k.tgenabled = t.tgenabled)),
           f.proconfig, f.prosrc
      FROM pg_proc f
      JOIN pg_class o ON o.oid = to_regclass(%s) AND o.relnamespace = f.pronamespace
      LEFT JOIN pg_trigger t ON t.tgfoid = f.oid AND t.tgname = f.proname AND t.tgparentid < 1
     WHERE f.prorettype = 'trigger'::regtype AND position(%s in f.prosrc) > 0
"""

# DISABLE and ENABLE replace the row of a trigger, CREATE OR REPLACE the row of a function, and TRUNCATE the file of
# a partition, for which its own triggers do not fire. ALTER COLUMN replaces the row of a column, and may rewrite its
# values without a trigger. The values of an enum are its labels.
STAMPS: Final = """
    WITH ours AS MATERIALIZED (
        SELECT f.proname, f.oid, f.xmin, t.oid AS trigger, t.xmin AS changed, t.tgrelid, o.oid AS outbox
          FROM pg_proc f
          JOIN pg_class o ON o.oid = to_regclass(%s) AND o.relnamespace = f.pronamespace
          LEFT JOIN pg_trigger t ON t.tgfoid = f.oid AND t.tgname = f.proname AND t.tgparentid < 1
         WHERE f.prorettype = 'trigger'::regtype AND position(%s in f.prosrc) > 0
    )
    SELECT ours.proname, concat_ws('.', ours.oid, ours.xmin, ours.trigger, ours.changed, parts.stamp, relatives.stamp)
      FROM ours
      LEFT JOIN LATERAL (
           SELECT md5(string_agg(concat_ws('.', i.inhparent, i.inhrelid, i.xmin), ' '
                                 ORDER BY i.inhparent, i.inhrelid)) AS stamp
             FROM pg_inherits i
             JOIN pg_class c ON c.oid = ours.tgrelid AND c.relkind = 'r'
            WHERE ours.tgrelid IN (i.inhparent, i.inhrelid)
           ) relatives ON TRUE
      LEFT JOIN LATERAL (
           SELECT md5(string_agg(concat_ws('.', i.inhrelid, i.xmin, r.relfilenode, k.oid, k.xmin), ' '
                                 ORDER BY i.inhrelid)) AS stamp
             FROM pg_class c
             JOIN pg_partition_tree(c.oid) p ON p.level > 0
             JOIN pg_class r ON r.oid = p.relid
             JOIN pg_inherits i ON i.inhrelid = p.relid
             LEFT JOIN pg_trigger k ON k.tgrelid = p.relid AND k.tgfoid = ours.oid
            WHERE c.oid = ours.tgrelid AND c.relkind = 'p'
           ) parts ON TRUE
    UNION ALL
    SELECT %s || a.attrelid::regclass || '.' || a.attname,
           concat_ws('.', a.attnum, a.xmin, (SELECT md5(string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder))
                                               FROM pg_enum e WHERE e.enumtypid = a.atttypid))
      FROM pg_attribute a
     WHERE a.attrelid IN (SELECT tgrelid FROM ours) AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT '', md5(concat(string_agg(concat_ws('.', a.attrelid::regclass, a.attname), ' '
                                     ORDER BY a.attrelid, a.attnum),
                          (SELECT string_agg(concat_ws('.', c.oid, c.relowner, c.relacl), ' ' ORDER BY c.oid)
                             FROM (SELECT DISTINCT outbox FROM ours) o
                             JOIN pg_class c
                               ON c.oid IN (outbox, pg_get_serial_sequence(outbox::regclass::text, 'id')::regclass))))
      FROM pg_attribute a
     WHERE a.attrelid IN (SELECT tgrelid FROM ours) AND a.attnum > 0 AND NOT a.attisdropped
    HAVING count(*) > 0
"""
# The functions know their table by its oid. The setting ends with the transaction, also by a rollback to a savepoint.
BEGIN_BULK_LOAD: Final = """
    SELECT set_config(%s, string_agg(to_regclass(name)::oid::text, ','), true) FROM unnest(%s::text[]) AS loaded(name)
"""
# A trigger fires for ordinary writes; in sessions with session_replication_role = replica; in both.
ORDINARY, REPLICA, ALWAYS = "O", "R", "A"
ENABLE: Final = {ORDINARY: "ENABLE", REPLICA: "ENABLE REPLICA", ALWAYS: "ENABLE ALWAYS"}
LOCK_TIMEOUT: Final = "1s"  # writers queue behind a process that waits for a table lock

RELATIONS: Final = """
    SELECT w.name, c.oid::regclass::text,
           (SELECT array_agg(a.attname::text) FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
           CASE WHEN c.relkind = 'v' THEN 'is a view'
                WHEN c.relkind = 'm' THEN 'is a materialized view'
                WHEN c.relkind = 'f' THEN 'is a foreign table'
                WHEN c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)
                THEN 'has tables that inherit from it'
                WHEN EXISTS (SELECT FROM pg_partition_tree(c.oid) p
                               JOIN pg_class f ON f.oid = p.relid AND f.relkind = 'f')
                THEN 'has a foreign table as a partition'
                WHEN c.relpersistence = 'u'
                     OR EXISTS (SELECT FROM pg_partition_tree(c.oid) p
                                  JOIN pg_class u ON u.oid = p.relid AND u.relpersistence = 'u')
                THEN 'has unlogged rows, which a crash of PostgreSQL deletes' END,
           c.relkind = 'p' OR EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid),
           (SELECT array_agg(a.attname::text) FROM pg_attribute a
              LEFT JOIN pg_collation k ON k.oid = a.attcollation
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
               AND a.atttypid = ANY ('{bool,int2,int4,int8,uuid,date,timestamp,timestamptz,text,varchar}'::regtype[])
               AND COALESCE(k.collisdeterministic, TRUE))
      FROM unnest(%s::text[], %s::text[]) AS w(name, quoted)
      JOIN pg_class c ON c.oid = to_regclass(w.quoted)
"""

# By outbox, statements and operation. While a table has a lasting fault, each check compares all bodies.
_bodies: Final = Bounded[tuple[str, tuple[Insert, ...], Operation], str](4096)


class Shape(NamedTuple):
    """When a trigger fires, and with which rights: a row of ``FOUND``, as text."""

    trigger: str
    type: str  # pg_trigger.tgtype
    enabled: str  # ``ORDINARY``, ``REPLICA`` or ``ALWAYS``, or "D" if it is disabled
    old_rows: str  # the name of the transition table, or "None"
    new_rows: str
    is_unconditional: str
    has_rights_of_owner: str
    owner_can_write: str
    partitions_without: str  # the number of those where it does not fire in the same way
    settings: str


class PostgresCapture(Capture):
    """Definitions are compared by their rows in the system catalogs."""

    def begin_bulk_load(self, tables: Collection[str]) -> None:
        with self.connection.cursor() as cursor:
            names = list(map(self.quote, tables))
            cursor.execute(BEGIN_BULK_LOAD, [LOADED_TABLES, names])

    def end_bulk_load(self, tables: Collection[str]) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, '', true)", [LOADED_TABLES])

    def lock(self) -> None:
        self.run(["SELECT pg_advisory_xact_lock(hashtext('mirror.capture.install'))"])

    def operations(self, relation: Relation) -> tuple[Operation, ...]:
        if relation.has_parts:
            return ("truncate", "row")
        return ("insert", "update", "delete", "truncate", "row")

    def relations(self, tables: Sequence[str]) -> dict[str, Relation]:
        with self.connection.cursor() as cursor:
            cursor.execute(RELATIONS, [list(tables), list(map(self.quote, tables))])
            rows = cursor.fetchall()
        relations: dict[str, Relation] = {}
        for table, name, columns, obstacle, has_parts, exact in rows:
            relations[table] = Relation(
                name, frozenset(columns or ()), obstacle or "", has_parts, exact=frozenset(exact or ())
            )
        return relations

    def name_column(self, column: str) -> str:
        return truncate(column)

    def wanted_on_own(self, relations: Mapping[str, Relation]) -> list[Trigger]:
        notifying = Trigger(trigger_name(self.outbox, "insert"), relations[self.outbox], "insert", ())
        triggers = [notifying]
        for table, relation in relations.items():
            triggers.append(Trigger(trigger_name(table, "row"), relation, "row", ()))
        return triggers

    def found(self) -> dict[str, Definition]:
        with self.connection.cursor() as cursor:
            cursor.execute(FOUND, [self.quote(self.outbox), MARK])
            rows = cursor.fetchall()
        definitions: dict[str, Definition] = {}
        for name, table, *shape, body in rows:
            definitions[name] = Definition(name, table, tuple(map(str, shape)), body)
        return definitions

    def stamps(self) -> dict[str, str]:
        with self.connection.cursor() as cursor:
            cursor.execute(STAMPS, [self.quote(self.outbox), MARK, COLUMN])
            return dict(cursor.fetchall())

    def weak(self) -> list[str]:
        statements = [f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"]
        found = self.found()
        for trigger in self.wanted():
            should = self.define(trigger)
            is_now = found.get(should.name)
            if is_now and is_now.shape != should.shape and self.is_alive(should, is_now):
                statements.append(self._enable_trigger(should))
        if len(statements) == 1:
            return []
        return statements

    def is_alive(self, should: Definition, was: Definition) -> bool:
        expected = Shape(*should.shape)
        enabled = Shape(*was.shape).enabled
        if enabled in (ORDINARY, ALWAYS):
            # It captures ordinary writes, whatever it does in the other sessions.
            expected = expected._replace(enabled=enabled)
        return (was.table, was.shape) == (should.table, expected)

    def _enable_trigger(self, definition: Definition) -> str:
        shape = Shape(*definition.shape)
        enable = ENABLE[shape.enabled]
        return f"ALTER TABLE {definition.table} {enable} TRIGGER {self.quote(definition.name)}"

    def define(self, trigger: Trigger) -> Definition:
        transitions = TRANSITIONS[trigger.operation] if trigger.inserts else ""
        is_ignoring = _is_ignoring(trigger)
        number = TYPES[trigger.operation]
        if is_ignoring:
            number += BEFORE
        shape = Shape(
            trigger=trigger.name,
            type=str(number),
            enabled=_find_enabled(trigger),
            old_rows="old_rows" if "OLD" in transitions else "None",
            new_rows="new_rows" if "NEW" in transitions else "None",
            is_unconditional="True",
            has_rights_of_owner=str(not is_ignoring),  # PostgreSQL shows the kind of a worker to its own user only
            owner_can_write="True",
            partitions_without="0",
            settings=str([f"search_path={SEARCH_PATH}"]),
        )
        return Definition(trigger.name, trigger.relation.name, shape, self._write_body(trigger))

    def _write_body(self, trigger: Trigger) -> str:
        if trigger.inserts:
            return self._find_body(trigger.inserts, trigger.operation)
        if _is_ignoring(trigger):
            return IGNORE
        return NOTIFY

    def _find_body(self, inserts: tuple[Insert, ...], operation: Operation) -> str:
        wanted = (self._texts.outbox, inserts, operation)
        body = _bodies.get(wanted)
        if body is None:
            body = self._texts.body(inserts, operation)
            _bodies.put(wanted, body)
        return body

    def create(self, definition: Definition) -> list[str]:
        shape = Shape(*definition.shape)
        name = self.quote(definition.name)
        moment = "BEFORE" if _is_before(shape) else "AFTER"
        each = "ROW" if int(shape.type) & PER_ROW else "STATEMENT"
        when = f"{moment} {EVENTS[shape.type]} ON {definition.table}{_write_referencing(shape)} FOR EACH {each}"
        return [
            *self._create_function(definition),
            f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {self._schema}.{name}()",
            self._enable_trigger(definition),
        ]

    def replace(self, definition: Definition, was: Definition) -> list[str]:
        if (was.table, was.shape) != (definition.table, definition.shape):
            return super().replace(definition, was)
        # Dropping a trigger would also wait for readers, and a deadlock could end the query of one. The lock waits for
        # transactions that wrote without the new statements.
        return [f"LOCK TABLE {definition.table} IN SHARE ROW EXCLUSIVE MODE", *self._create_function(definition)]

    def _create_function(self, definition: Definition) -> list[str]:
        """Return the SQL that creates or replaces the function of a trigger."""
        function = f"{self._schema}.{self.quote(definition.name)}"
        rights = "INVOKER" if _is_before(Shape(*definition.shape)) else "DEFINER"
        return [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY {rights}"
            f" SET search_path = {SEARCH_PATH} AS {literal(definition.body)}",
            # Nobody else may attach it to a table of their own and write to the outbox.
            f"REVOKE ALL ON FUNCTION {function}() FROM PUBLIC",
        ]

    def drop(self, definition: Definition) -> list[str]:
        # CASCADE also drops its triggers, even on a renamed table.
        return [f"DROP FUNCTION IF EXISTS {self._schema}.{self.quote(definition.name)}() CASCADE"]

    def statement(self, insert: Insert, operation: Operation) -> str:
        return self._texts.select(insert, operation)

    @cached_property
    def _texts(self) -> Texts:
        return Texts(f"{self._schema}.{self.quote(self.outbox)}", self.quote)

    @cached_property
    def _schema(self) -> str:
        """The quoted name of the outbox's schema."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass(%s)",
                [self.quote(self.outbox)],
            )
            return str(cursor.fetchone()[0])


def _is_before(shape: Shape) -> bool:
    return bool(int(shape.type) & BEFORE)


def _is_ignoring(trigger: Trigger) -> bool:
    return trigger.operation == "row" and not trigger.inserts


def _find_enabled(trigger: Trigger) -> str:
    """Return when a trigger fires. Exactly one of the triggers for statements and for rows fires for a write."""
    is_notifying = not trigger.inserts and not _is_ignoring(trigger)
    if is_notifying or trigger.operation == "truncate":
        return ALWAYS
    if trigger.operation != "row":
        return ORDINARY
    if trigger.relation.has_parts:
        # Such a table has no triggers for statements.
        return ALWAYS
    return REPLICA


def _write_referencing(shape: Shape) -> str:
    """Return the clause for the transition tables that a trigger has."""
    tables: list[str] = []
    if shape.old_rows != "None":
        tables.append(f"OLD TABLE AS {shape.old_rows}")
    if shape.new_rows != "None":
        tables.append(f"NEW TABLE AS {shape.new_rows}")
    if not tables:
        return ""
    return f" REFERENCING {' '.join(tables)}"
