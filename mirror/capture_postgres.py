"""Capture on PostgreSQL: statement triggers with transition tables, and one for TRUNCATE.

One function per trigger, beside the outbox. It runs with a search path of its own, so that whoever writes
cannot have it call anything but PostgreSQL's own operators.
"""

from typing import Final

from mirror.capture_plan import MARK, WHOLE, Capture, Definition, Insert, Operation, Trigger, literal

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
    SELECT f.proname, COALESCE(c.relname, ''), t.tgname, t.tgtype, t.tgenabled, t.tgoldtable, t.tgnewtable,
           t.tgqual IS NULL AND COALESCE(t.tgrelid = to_regclass(quote_ident(c.relname)), FALSE),
           f.proconfig, f.prosrc
      FROM pg_proc f
      JOIN pg_class o ON o.oid = to_regclass(%s) AND o.relnamespace = f.pronamespace
      LEFT JOIN pg_trigger t ON t.tgfoid = f.oid
      LEFT JOIN pg_class c ON c.oid = t.tgrelid
     WHERE f.prorettype = 'trigger'::regtype AND position(%s in f.prosrc) > 0
"""


class PostgresCapture(Capture):
    """Compared by what the catalogue says of trigger and function."""

    operations: tuple[Operation, ...] = ("insert", "update", "delete", "truncate")

    def lock(self) -> None:
        self.run(["SELECT pg_advisory_xact_lock(hashtext('mirror.capture'))"])

    def found(self) -> dict[str, Definition]:
        with self.connection.cursor() as cursor:
            cursor.execute(FOUND, [self.quote(self.outbox), MARK])
            rows = cursor.fetchall()
        return {name: Definition(name, table, tuple(map(str, shape)), body) for name, table, *shape, body in rows}

    def define(self, trigger: Trigger) -> Definition:
        transitions = TRANSITIONS[trigger.operation]
        shape = (
            trigger.name,
            TYPES[trigger.operation],
            "O",
            "old_rows" if "OLD" in transitions else None,
            "new_rows" if "NEW" in transitions else None,
            True,
            [f"search_path={SEARCH_PATH}"],
        )
        statements = (self.statement(insert, trigger.operation) for insert in trigger.inserts)
        body = "\n".join([f"BEGIN {MARK}", *statements, "RETURN NULL;", "END"])
        return Definition(trigger.name, trigger.table, tuple(map(str, shape)), body)

    def create(self, definition: Definition) -> list[str]:
        name, table = self.quote(definition.name), self.quote(definition.table)
        function = f"{self._schema()}.{name}"
        operation = next(op for op, number in TYPES.items() if str(number) == definition.shape[1])
        transitions = TRANSITIONS[operation]
        return [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql"
            f" SET search_path = {SEARCH_PATH} AS {literal(definition.body)}",
            f"DROP TRIGGER IF EXISTS {name} ON {table}",
            f"CREATE TRIGGER {name} AFTER {operation.upper()} ON {table}"
            f"{' REFERENCING ' + transitions if transitions else ''}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]

    def drop(self, definition: Definition) -> list[str]:
        # With its triggers, wherever they are by now.
        return [f"DROP FUNCTION IF EXISTS {self._schema()}.{self.quote(definition.name)}() CASCADE"]

    def statement(self, insert: Insert, operation: Operation) -> str:
        head = insert.head(f"{self._schema()}.{self.quote(self.outbox)}")
        if operation == "truncate":
            return f"{head} {literal(WHOLE)};"
        columns = ", ".join(map(self.quote, insert.columns))
        key = f" || {literal(':')} || ".join(f"{self.quote(column)}::text" for column in insert.columns)
        return f"{head} key FROM ({self._keys(insert, operation, key, columns)}) AS keys WHERE key IS NOT NULL;"
