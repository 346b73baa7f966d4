"""The functions of the triggers on PostgreSQL, as text.

A function never makes a write fail. If it cannot tell the changed keys, because another program renamed a column, it
appends a change of everything instead, so the mirror becomes cold. If it cannot write to the outbox at all, it warns,
and the next check of the triggers finds the reason. Other errors, such as a full disk, stop the write.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mirror.capture.plan import MARK
from mirror.capture.statements import WHOLE, Insert, Operation, literal

CHANNEL: Final = "mirror_change"
# A column may have the name of a variable, such as "found" or "old".
COLUMNS_FIRST: Final = "#variable_conflict use_column"
LOADED_TABLES: Final = "mirror.loaded_tables"  # a setting of a transaction: oids of tables that it loads in bulk
# PostgreSQL commits notifying transactions one after another, each with its write to disk. So one of several
# simultaneous transactions notifies, and no other waits for it. A prepared transaction must not notify.
# Commits a second of 1 and 16 writers: 200 and 1090 without NOTIFY, 150 and 370 with it, 200 and 1370 with this lock.
NOTIFY: Final = f"""BEGIN {MARK}
IF current_setting('max_prepared_transactions') = '0' AND pg_try_advisory_xact_lock(hashtext('mirror.notify')) THEN
PERFORM pg_notify('{CHANNEL}', '');
END IF;
RETURN NULL;
END"""
# Rows that a worker of logical replication itself writes come from the outbox of another server. They are about another
# Redis, and their ids may be in use here. Those that it writes by a trigger are this server's own.
IGNORE: Final = f"""BEGIN {MARK}
IF pg_trigger_depth() > 1 OR NOT EXISTS (SELECT FROM pg_stat_get_activity(pg_backend_pid())
WHERE backend_type LIKE 'logical replication%') THEN
RETURN COALESCE(NEW, OLD);
END IF;
RETURN NULL;
END"""


class Texts:
    """The texts for one outbox.

    outbox: its name in SQL, with its schema. quote: quotes a column's name.
    """

    def __init__(self, outbox: str, quote: Callable[[str], str]) -> None:
        self.outbox = outbox
        self.quote = quote

    def body(self, inserts: Sequence[Insert], operation: Operation) -> str:
        """Return a function for these statements."""
        mirrors = dict.fromkeys(insert.mirror for insert in inserts)
        changes = "\nUNION ALL\n".join(self.select(insert, operation) for insert in inserts)
        lines = [COLUMNS_FIRST, f"BEGIN {MARK}"]
        if operation == "insert":
            lines.append(self._append_bulk_load(mirrors))
        lines += [
            # One statement for all mirrors, because each one also fires the trigger that notifies the relay.
            f"INSERT INTO {self.outbox} (mirror, source, key)",
            changes,
            ";",
            "RETURN NULL;",
            "EXCEPTION WHEN OTHERS THEN",
            "BEGIN",
            # A program that wrote ids of its own into the outbox left the sequence behind.
            f"IF SQLSTATE = '23505' THEN PERFORM {self._advance_sequence()}; END IF;",
        ]
        lines += map(self._append_failure, mirrors)
        lines += [
            # The outbox is gone or was altered, or its owner was changed.
            "EXCEPTION WHEN syntax_error_or_access_rule_violation THEN",
            "RAISE WARNING 'mirror: changes of % are not captured: %', TG_TABLE_NAME, SQLERRM;",
            "END;",
            "RETURN NULL;",
            "END",
        ]
        return "\n".join(lines)

    def _append_bulk_load(self, mirrors: Iterable[str]) -> str:
        """Return the statements for a bulk load, which make the mirrors cold in place of naming its rows.

        They depend on the setting alone, and append the change with the rows. So no row is missed, whatever sets it.
        """
        tables = f"string_to_array(current_setting({literal(LOADED_TABLES)}, true), ',')"
        values = ", ".join(f"({literal(mirror)})" for mirror in mirrors)
        return (
            f"IF TG_RELID::text = ANY ({tables}) THEN"
            f" INSERT INTO {self.outbox} (mirror, source, key) SELECT loaded.mirror, '', {literal(WHOLE)}"
            f" FROM (VALUES {values}) AS loaded(mirror) WHERE EXISTS (SELECT FROM new_rows);"
            " RETURN NULL; END IF;"
        )

    def _advance_sequence(self) -> str:
        sequence = f"pg_get_serial_sequence({literal(self.outbox)}, 'id')"
        return f"setval({sequence}, GREATEST((SELECT max(id) FROM {self.outbox}), nextval({sequence})))"

    def _append_failure(self, mirror: str) -> str:
        """Return the statement that makes a mirror cold, with the error."""
        values = f"{literal(mirror)}, '', {literal(WHOLE)}, left(SQLERRM, 2000)"
        return f"INSERT INTO {self.outbox} (mirror, source, key, error) VALUES ({values});"

    def select(self, insert: Insert, operation: Operation) -> str:
        """Return the query for the changes of one mirror, on one line."""
        head = f"SELECT {literal(insert.mirror)}, {literal(insert.source)},"
        if operation == "truncate":
            return f"{head} {literal(WHOLE)}"
        if operation == "row":
            return f"{head} {self._keys_of_row(insert)}"
        return f"{head} key FROM ({self._select_keys(insert, operation)}) AS keys WHERE key IS NOT NULL"

    def _keys_of_row(self, insert: Insert) -> str:
        """Return the rest of the query in a trigger for each row, whose OLD or NEW may be null."""
        old = self._write_key(insert, "OLD.")
        new = self._write_key(insert, "NEW.")
        both = f"(VALUES ({old}), ({new})) AS keys(key)"
        condition = "key IS NOT NULL"
        if insert.compared:
            condition += f" AND (TG_OP <> 'UPDATE' OR {self._compare_rows(insert, 'OLD', 'NEW')})"
        return f"key FROM {both} WHERE {condition} GROUP BY key"

    def _select_keys(self, insert: Insert, operation: Operation) -> str:
        """Return the query for the keys, each once."""
        if operation == "update" and insert.compared:
            return self._select_changed_keys(insert)
        rows = "old_rows" if operation == "delete" else "new_rows"
        key = self._write_key(insert)
        if not insert.columns:
            return f"SELECT {key} AS key WHERE EXISTS (SELECT FROM {rows})"
        if operation == "update":
            return f"SELECT {key} AS key FROM old_rows UNION SELECT {key} FROM new_rows"
        select = "SELECT" if insert.unique else "SELECT DISTINCT"
        return f"{select} {key} AS key FROM {rows}"

    def _select_changed_keys(self, insert: Insert) -> str:
        """Return the query for the old and new keys of rows with a bytewise difference.

        NULL is compared like any value. A row with a changed primary key has no partner in the join, so it differs.
        """
        partner = " AND ".join(f"o.{c} = n.{c}" for c in map(self.quote, insert.primary))
        pairs = f"FROM old_rows AS o FULL JOIN new_rows AS n ON {partner}"
        differ = f"WHERE {self._compare_rows(insert, 'o', 'n')}"
        if not insert.columns:
            return f"SELECT '' AS key WHERE EXISTS (SELECT {pairs} {differ})"
        old, new = self._write_key(insert, "o."), self._write_key(insert, "n.")
        if insert.columns == insert.primary and set(insert.primary) <= set(insert.exact):
            # Both rows of a pair have one key, and no other pair has it. A row without a partner has a key of its own.
            return f"SELECT COALESCE({new}, {old}) AS key {pairs} {differ}"
        both = f"(VALUES ({old}), ({new})) AS either(key)"
        return f"SELECT DISTINCT either.key AS key {pairs} CROSS JOIN LATERAL {both} {differ}"

    def _compare_rows(self, insert: Insert, before: str, after: str) -> str:
        """Return the condition that two rows differ in one of the compared columns."""
        exact = map(self.quote, insert.exact)
        differences = [f"{before}.{column} IS DISTINCT FROM {after}.{column}" for column in exact]
        # Takes three times as long. Equal values of other types may differ (a letter's case, 1.0 and 1.00).
        others = [self.quote(column) for column in insert.compared if column not in insert.exact]
        if others:
            old = ", ".join(f"{before}.{column}" for column in others)
            new = ", ".join(f"{after}.{column}" for column in others)
            differences.append(f"ROW({old})::record *<> ROW({new})::record")
        return f"({' OR '.join(differences)})"

    def _write_key(self, insert: Insert, row: str = "") -> str:
        """Return the expression of a change's key: the values of its columns, joined with colons."""
        texts = [f"{row}{self.quote(column)}::text" for column in insert.columns]
        key = " || ':' || ".join(texts) or "''"
        # Bytewise, whatever the column's collation: "A" and "a" are two keys in Redis.
        return f'{key} COLLATE "C"'
