"""The functions of the triggers on PostgreSQL, as text.

A function never makes a write fail. If it cannot tell the changed keys, because another program renamed a column, it
appends a change of everything instead, so the mirror becomes cold. If it cannot write to the outbox at all, it warns,
and the next check of the triggers finds the reason. Other errors, such as a full disk, stop the write.
"""

from collections.abc import Callable, Sequence
from typing import Final

from mirror.capture.plan import MARK, WHOLE, Insert, Operation, literal

CHANNEL: Final = "mirror_change"
# PostgreSQL commits notifying transactions one after another, each with its write to disk. So one of several
# simultaneous transactions notifies, and no other waits for it. A prepared transaction must not notify.
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
        return "\n".join(
            [
                f"BEGIN {MARK}",
                # One statement for all mirrors, because each one also fires the trigger that notifies the relay.
                f"INSERT INTO {self.outbox} (mirror, source, key)",
                "\nUNION ALL\n".join(self.select(insert, operation) for insert in inserts),
                ";",
                "RETURN NULL;",
                "EXCEPTION WHEN OTHERS THEN",
                "BEGIN",
                # A program that wrote ids of its own into the outbox left the sequence behind.
                f"IF SQLSTATE = '23505' THEN PERFORM {self._advance()}; END IF;",
                *map(self._note, mirrors),
                # The outbox is gone or was altered, or its owner was changed.
                "EXCEPTION WHEN syntax_error_or_access_rule_violation THEN",
                "RAISE WARNING 'mirror: changes of % are not captured: %', TG_TABLE_NAME, SQLERRM;",
                "END;",
                "RETURN NULL;",
                "END",
            ]
        )

    def _advance(self) -> str:
        sequence = f"pg_get_serial_sequence({literal(self.outbox)}, 'id')"
        return f"setval({sequence}, GREATEST((SELECT max(id) FROM {self.outbox}), nextval({sequence})))"

    def _note(self, mirror: str) -> str:
        values = f"{literal(mirror)}, '', {literal(WHOLE)}, left(SQLERRM, 2000)"
        return f"INSERT INTO {self.outbox} (mirror, source, key, error) VALUES ({values});"

    def select(self, insert: Insert, operation: Operation) -> str:
        """Return the query for the changes of one mirror, on one line."""
        head = f"SELECT {literal(insert.mirror)}, {literal(insert.source)},"
        if operation == "truncate":
            return f"{head} {literal(WHOLE)}"
        if operation == "row":
            return f"{head} {self._keys_of_row(insert)}"
        return f"{head} key FROM ({self._keys(insert, operation)}) AS keys WHERE key IS NOT NULL"

    def _keys_of_row(self, insert: Insert) -> str:
        """Return the rest of the query in a trigger for each row, whose OLD or NEW may be null."""
        both = f"(VALUES ({self._key(insert, 'OLD.')}), ({self._key(insert, 'NEW.')})) AS keys(key)"
        condition = "key IS NOT NULL"
        if insert.compared:
            condition += f" AND (TG_OP <> 'UPDATE' OR {self._differ(insert, 'OLD', 'NEW')})"
        return f"key FROM {both} WHERE {condition} GROUP BY key"

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
        changed = (
            f"FROM old_rows AS o FULL JOIN new_rows AS n ON {partner}",
            f"WHERE {self._differ(insert, 'o', 'n')}",
        )
        if not insert.columns:
            return f"SELECT '' AS key WHERE EXISTS (SELECT {' '.join(changed)})"
        both = f"(VALUES ({self._key(insert, 'o.')}), ({self._key(insert, 'n.')})) AS either(key)"
        return f"SELECT DISTINCT either.key AS key {changed[0]} CROSS JOIN LATERAL {both} {changed[1]}"

    def _differ(self, insert: Insert, before: str, after: str) -> str:
        old, new = (", ".join(f"{row}.{self.quote(c)}" for c in insert.compared) for row in (before, after))
        return f"ROW({old})::record *<> ROW({new})::record"

    def _key(self, insert: Insert, row: str = "") -> str:
        # Bytewise, whatever the column's collation: "A" and "a" are two keys in Redis.
        texts = (f"{row}{self.quote(column)}::text" for column in insert.columns)
        return (" || ':' || ".join(texts) or "''") + ' COLLATE "C"'
