"""Capture on SQLite: row triggers.

``recursive_triggers`` must be on. Otherwise REPLACE removes rows without firing triggers. A system check tests
this.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from mirror.capture.plan import BULK_LOAD, MARK, Capture, Definition, Relation, Trigger
from mirror.capture.statements import WHOLE, Insert, Operation, find_filled_mirrors, literal

# table_xinfo, because table_info omits generated columns
COLUMNS: Final = """
    SELECT t.name, t.type, t.sql, c.name
      FROM sqlite_master t, pragma_table_xinfo(t.name) c
     WHERE t.type IN ('table', 'view') AND t.name IN (SELECT value FROM json_each(%s))
"""
# The schema version counts, because a trigger that was dropped and created again can be equal in all else.
STAMPS: Final = """
    SELECT m.name, s.schema_version || '.' || m.rowid
      FROM sqlite_master m, pragma_schema_version s
     WHERE m.type = 'trigger' AND instr(m.sql, %s) > 0
"""
UUID_GROUPS: Final = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))  # beginning and length of each group of digits


class SqliteCapture(Capture):
    """Definitions are compared by the text in ``sqlite_master``, which is the CREATE statement."""

    keeps_columns = True

    def begin_bulk_load(self, tables: Collection[str]) -> None:
        # A trigger knows neither its transaction nor other statements of it. So the change comes first, with a mark
        # for which the triggers look.
        outbox = self.quote(self.outbox)
        with self.connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {outbox} (mirror, source, key, error) VALUES (%s, '', %s, %s)",
                [(name, WHOLE, BULK_LOAD) for name in find_filled_mirrors(tables)],
            )

    def end_bulk_load(self, tables: Collection[str]) -> None:
        ended = "SET error = '' WHERE applied_at IS NULL AND mirror = %s AND key = %s AND error = %s"
        with self.connection.cursor() as cursor:
            cursor.executemany(
                f"UPDATE {self.quote(self.outbox)} {ended}",
                [(name, WHOLE, BULK_LOAD) for name in find_filled_mirrors(tables)],
            )

    def lock(self) -> None:
        """Do nothing: a writing transaction excludes all others."""

    def operations(self, relation: Relation) -> tuple[Operation, ...]:
        return ("insert", "update", "delete")

    def relations(self, tables: Sequence[str]) -> dict[str, Relation]:
        by_name = {table.strip('"'): table for table in tables}  # Django leaves a quoted name as it is
        columns: dict[str, set[str]] = defaultdict(set)
        obstacles: dict[str, str] = {}
        with self.connection.cursor() as cursor:
            cursor.execute(COLUMNS, [json.dumps(list(by_name))])
            for name, kind, sql, column in cursor.fetchall():
                columns[name].add(column)
                obstacles[name] = _find_obstacle(kind, sql)
        relations: dict[str, Relation] = {}
        for name, obstacle in obstacles.items():
            table = by_name[name]
            relations[table] = Relation(self.quote(table), frozenset(columns[name]), obstacle)
        return relations

    def found(self) -> dict[str, Definition]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
            rows = cursor.fetchall()
        definitions: dict[str, Definition] = {}
        for name, table, sql in rows:
            head, mark, body = sql.partition(MARK)
            # Without it, this is a trigger of the site's own.
            if mark:
                definitions[name] = Definition(name, table, (head,), mark + body)
        return definitions

    def stamps(self) -> dict[str, str]:
        with self.connection.cursor() as cursor:
            cursor.execute(STAMPS, [MARK])
            return dict(cursor.fetchall())

    def define(self, trigger: Trigger) -> Definition:
        table = trigger.relation.name
        head = f"CREATE TRIGGER {self.quote(trigger.name)} AFTER {trigger.operation.upper()} ON {table} BEGIN "
        lines = [MARK]
        lines += [self.statement(insert, trigger.operation) for insert in trigger.inserts]
        lines.append("END")
        return Definition(trigger.name, table.strip('"'), (head,), "\n".join(lines))

    def create(self, definition: Definition) -> list[str]:
        return [definition.shape[0] + definition.body]

    def drop(self, definition: Definition) -> list[str]:
        return [f"DROP TRIGGER IF EXISTS {self.quote(definition.name)}"]

    def statement(self, insert: Insert, operation: Operation) -> str:
        old = self._write_key("OLD", insert)
        new = self._write_key("NEW", insert)
        head = insert.head(self.quote(self.outbox))
        if operation == "delete":
            return f"{head} {old} WHERE {old} IS NOT NULL;"
        if operation == "insert":
            return f"{head} {new} WHERE {new} IS NOT NULL AND {self._is_not_loading(insert)};"
        condition = f"{new} IS NOT NULL"
        if insert.compared:
            condition += f" AND ({self._compare_rows(insert.compared)})"
        statement = f"{head} {new} WHERE {condition};"
        if not insert.columns:
            return statement
        # If the key itself changed, there is a change of the old key as well.
        return f"{statement} {head} {old} WHERE ({self._compare_rows(insert.columns)}) AND {old} IS NOT NULL;"

    def _is_not_loading(self, insert: Insert) -> str:
        """Return the condition that the newest pending change of everything has no mark of a bulk load.

        SQLite has one writer at a time, so the mark is that of the present transaction. If it were ever left behind,
        the pending change would still cover every row that is written before it is applied. The changes of earlier
        transactions of the load are not read: there may be hundreds.
        """
        return (
            f"(SELECT error FROM {self.quote(self.outbox)} WHERE applied_at IS NULL"
            f" AND mirror = {literal(insert.mirror)} AND key = {literal(WHOLE)}"
            f" ORDER BY created_at DESC LIMIT 1) IS NOT {literal(BULK_LOAD)}"
        )

    def _compare_rows(self, columns: Sequence[str]) -> str:
        """Return the condition that a row differs in one of these columns."""
        # Binary, whatever the column's collation: "A" and "a" are two keys in Redis.
        return " OR ".join(f"OLD.{c} IS NOT NEW.{c} COLLATE BINARY" for c in map(self.quote, columns))

    def _write_key(self, row: str, insert: Insert) -> str:
        """Return the expression of a change's key: the values of its columns, joined with colons."""
        if not insert.columns:
            return "''"
        texts = [self._write_text(f"{row}.{self.quote(column)}", column in insert.uuids) for column in insert.columns]
        return " || ':' || ".join(texts)

    def _write_text(self, value: str, is_uuid: bool) -> str:
        if not is_uuid:
            return f"CAST({value} AS TEXT)"
        # SQLite keeps the 32 digits, and Python writes a UUID with dashes.
        groups = [f"substr({value}, {start}, {length})" for start, length in UUID_GROUPS]
        joined = " || '-' || ".join(groups)
        return f"lower({joined})"


def _find_obstacle(kind: str, sql: str) -> str:
    """Return why SQLite has no triggers after changes of this table or view, or ""."""
    if kind == "view":
        return "is a view"
    if sql.upper().startswith("CREATE VIRTUAL"):
        return "is a virtual table"
    return ""
