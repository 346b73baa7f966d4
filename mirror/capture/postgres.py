"""Capture on PostgreSQL: statement triggers with transition tables, and one for TRUNCATE.

A trigger on the outbox notifies the relay (``mirror.standalone.notices``).

Each trigger has a function in the schema of the outbox. It runs with a search path of its own, so that a writer
cannot make it call any but PostgreSQL's own operators.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from mirror.capture.plan import MARK, WHOLE, Capture, Definition, Insert, Operation, Trigger, literal, trigger_name

SEARCH_PATH: Final = "pg_catalog, pg_temp"
# pg_trigger.tgtype of an AFTER ... FOR EACH STATEMENT trigger (bits as in PostgreSQL's pg_trigger.h)
TYPES: Final[dict[Operation, int]] = {"insert": 4, "delete": 8, "update": 16, "truncate": 32}
TRANSITIONS: Final[dict[Operation, str]] = {
    "insert": "NEW TABLE AS new_rows",
    "delete": "OLD TABLE AS old_rows",
    "update": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "truncate": "",
}

FOUND: Final = """
    SELECT f.proname, COALESCE(c.relname, ''), t.tgname, t.tgtype, t.tgenabled,
           t.tgoldtable, t.tgnewtable, t.tgqual IS NULL,
           COALESCE(pg_table_is_visible(c.oid), FALSE), f.proconfig, f.prosrc
      FROM pg_proc f
      JOIN pg_class o ON o.oid = to_regclass(%s) AND o.relnamespace = f.pronamespace
      LEFT JOIN pg_trigger t ON t.tgfoid = f.oid AND t.tgname = f.proname
      LEFT JOIN pg_class c ON c.oid = t.tgrelid
     WHERE f.prorettype = 'trigger'::regtype AND position(%s in f.prosrc) > 0
"""

# DISABLE and ENABLE replace the row of a trigger, and CREATE OR REPLACE the row of a function.
STAMPS: Final = """
    SELECT f.proname, concat_ws('.', f.oid, f.xmin, t.oid, t.xmin)
      FROM pg_proc f
      JOIN pg_class o ON o.oid = to_regclass(%s) AND o.relnamespace = f.pronamespace
      LEFT JOIN pg_trigger t ON t.tgfoid = f.oid AND t.tgname = f.proname
     WHERE f.prorettype = 'trigger'::regtype AND position(%s in f.prosrc) > 0
"""
ENABLED: Final = 2  # index in a definition's shape of the state that enables the trigger
ALWAYS, ORDINARY = "A", "O"  # fires, or does not, under session_replication_role = replica
LOCK_TIMEOUT: Final = "1s"  # writers queue behind a process that waits for a table lock

CHANNEL: Final = "mirror_change"
# PostgreSQL commits notifying transactions one after another, each with its write to disk. So one of several
# simultaneous transactions notifies, and no other waits for it. A prepared transaction must not notify.
NOTIFY: Final = f"""BEGIN {MARK}
IF current_setting('max_prepared_transactions') = '0' AND pg_try_advisory_xact_lock(hashtext('mirror.notify')) THEN
PERFORM pg_notify('{CHANNEL}', '');
END IF;
RETURN NULL;
END"""

COLUMNS: Final = """
    SELECT c.relname, array_agg(a.attname::text)
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relname = ANY(%s) AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid)
     GROUP BY c.relname
"""


class PostgresCapture(Capture):
    """Definitions are compared by their rows in the system catalogs."""

    operations: tuple[Operation, ...] = ("insert", "update", "delete", "truncate")

    def lock(self) -> None:
        self.run(["SELECT pg_advisory_xact_lock(hashtext('mirror.capture.install'))"])

    def columns(self, tables: Sequence[str]) -> dict[str, set[str]]:
        with self.connection.cursor() as cursor:
            cursor.execute(COLUMNS, [list(tables)])
            return {table: set(columns) for table, columns in cursor.fetchall()}

    def wanted_on_outbox(self) -> list[Trigger]:
        return [Trigger(trigger_name(self.outbox, "insert"), self.outbox, "insert", ())]

    def found(self) -> dict[str, Definition]:
        with self.connection.cursor() as cursor:
            cursor.execute(FOUND, [self.quote(self.outbox), MARK])
            rows = cursor.fetchall()
        return {name: Definition(name, table, tuple(map(str, shape)), body) for name, table, *shape, body in rows}

    def stamps(self) -> dict[str, str]:
        with self.connection.cursor() as cursor:
            cursor.execute(STAMPS, [self.quote(self.outbox), MARK])
            return dict(cursor.fetchall())

    def weak(self) -> list[str]:
        found = [found for found in self.found().values() if found.shape[ENABLED] == ORDINARY]
        return [f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'", *map(self._always, found)] if found else []

    def is_alive(self, should: Definition, was: Definition) -> bool:
        enabled = (ALWAYS,) if was.shape[ENABLED] == ORDINARY else was.shape[ENABLED : ENABLED + 1]
        return should.shape == was.shape[:ENABLED] + enabled + was.shape[ENABLED + 1 :]

    def _always(self, definition: Definition) -> str:
        return f"ALTER TABLE {self.quote(definition.table)} ENABLE ALWAYS TRIGGER {self.quote(definition.name)}"

    def define(self, trigger: Trigger) -> Definition:
        transitions = self._transitions(trigger.table, trigger.operation)
        shape = (
            trigger.name,
            TYPES[trigger.operation],
            ALWAYS,
            "old_rows" if "OLD" in transitions else None,
            "new_rows" if "NEW" in transitions else None,
            True,
            True,
            [f"search_path={SEARCH_PATH}"],
        )
        statements = (self.statement(insert, trigger.operation) for insert in trigger.inserts)
        body = "\n".join([f"BEGIN {MARK}", *statements, "RETURN NULL;", "END"])
        is_notifying = trigger.table == self.outbox
        return Definition(trigger.name, trigger.table, tuple(map(str, shape)), NOTIFY if is_notifying else body)

    def _transitions(self, table: str, operation: Operation) -> str:
        return TRANSITIONS[operation] if table != self.outbox else ""

    def create(self, definition: Definition) -> list[str]:
        name, table = self.quote(definition.name), self.quote(definition.table)
        function = f"{self._schema}.{name}"
        operation = next(op for op, number in TYPES.items() if str(number) == definition.shape[1])
        transitions = self._transitions(definition.table, operation)
        referencing = f" REFERENCING {transitions}" if transitions else ""
        make = f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql"
        when = f"AFTER {operation.upper()} ON {table}{referencing} FOR EACH STATEMENT"
        return [
            f"{make} SET search_path = {SEARCH_PATH} AS {literal(definition.body)}",
            f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {function}()",
            self._always(definition),
        ]

    def drop(self, definition: Definition) -> list[str]:
        # CASCADE also drops its triggers, even on a renamed table.
        return [f"DROP FUNCTION IF EXISTS {self._schema}.{self.quote(definition.name)}() CASCADE"]

    def statement(self, insert: Insert, operation: Operation) -> str:
        head = insert.head(f"{self._schema}.{self.quote(self.outbox)}")
        if operation == "truncate":
            return f"{head} {literal(WHOLE)};"
        return f"{head} key FROM ({self._keys(insert, operation)}) AS keys WHERE key IS NOT NULL;"

    def _keys(self, insert: Insert, operation: Operation) -> str:
        """Return the query for the keys, each once."""
        if operation == "update" and insert.compared:
            return self._changed_keys(insert)
        rows = "old_rows" if operation == "delete" else "new_rows"
        key = self._key(insert)
        if not insert.columns:
            return f"SELECT {key} AS key WHERE EXISTS (SELECT FROM {rows})"
        if operation == "update":
            return f"SELECT {key} AS key FROM old_rows UNION SELECT {key} FROM new_rows"
        return f"SELECT{'' if insert.unique else ' DISTINCT'} {key} AS key FROM {rows}"

    def _changed_keys(self, insert: Insert) -> str:
        """Return the query for the old and new keys of rows with a bytewise difference.

        NULL is compared like any value. A row with a changed primary key has no partner in the join, so it differs.
        """
        partner = " AND ".join(f"o.{c} = n.{c}" for c in map(self.quote, insert.primary))
        old, new = (", ".join(f"{row}.{self.quote(c)}" for c in insert.compared) for row in "on")
        changed = (
            f"FROM old_rows AS o FULL JOIN new_rows AS n ON {partner}",
            f"WHERE ROW({old})::record *<> ROW({new})::record",
        )
        if not insert.columns:
            return f"SELECT '' AS key WHERE EXISTS (SELECT {' '.join(changed)})"
        both = f"(VALUES ({self._key(insert, 'o.')}), ({self._key(insert, 'n.')})) AS either(key)"
        return f"SELECT DISTINCT either.key AS key {changed[0]} CROSS JOIN LATERAL {both} {changed[1]}"

    def _key(self, insert: Insert, row: str = "") -> str:
        # Bytewise, whatever the column's collation: "A" and "a" are two keys in Redis.
        texts = (f"{row}{self.quote(column)}::text" for column in insert.columns)
        return (" || ':' || ".join(texts) or "''") + ' COLLATE "C"'

    @cached_property
    def _schema(self) -> str:
        """The quoted name of the outbox's schema."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass(%s)",
                [self.quote(self.outbox)],
            )
            return str(cursor.fetchone()[0])
