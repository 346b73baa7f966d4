"""Statements in SQL: whether they write, and to which tables."""

import re
from functools import cache
from typing import Final

from django.apps import apps

from mirror.models import Change, Identity, Job, State

ANY: Final = "*"  # a table that cannot be told from the statement: any may be written
_COMMENTS = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_WRITES = re.compile(
    rf"(?:\A|;){_COMMENTS}"
    r"(?:INSERT|UPDATE|DELETE|REPLACE|MERGE|TRUNCATE|COPY|CALL|DO|WITH|EXECUTE|EXPLAIN\b[^;]*?\bANALYZE)\b",
    re.IGNORECASE | re.DOTALL,
)
_OWN_TABLES = "|".join(model._meta.db_table for model in (Change, Identity, Job, State))
# The mirror's own tables are not read through a mirror. Other tables may have similar names (shop_mirror_change).
_OWN_WRITES = re.compile(
    _COMMENTS + rf"(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+[\"'`]?(?:{_OWN_TABLES})\b",
    re.IGNORECASE | re.DOTALL,
)
_PART = r'(?:"(?:[^"]|"")+"|`[^`]+`|[^\s"`(.,;]+)'
_WRITTEN = re.compile(
    r"(?:(?:INSERT|REPLACE)\s+(?:OR\s+\w+\s+)?INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)"
    rf"\s+(?P<table>{_PART}(?:\.{_PART})*)",
    re.IGNORECASE,
)
_BEGINNING = re.compile(_COMMENTS, re.DOTALL)
_QUOTED = re.compile(r"'(?:[^']|'')*'|" + r'"(?:[^"]|"")*"')
_QUERY = re.compile(_COMMENTS + r"WITH\b(?!.*\b(?:INSERT|UPDATE|DELETE|MERGE)\b)", re.IGNORECASE | re.DOTALL)


def may_write(sql: str) -> bool:
    """Return whether the statement, or one of several, may write to a table that is not the mirror's own."""
    if _has_several(sql):
        return bool(_WRITES.search(sql))
    return bool(_WRITES.match(sql)) and not _OWN_WRITES.match(sql)


def _has_several(sql: str) -> bool:
    return ";" in sql and ";" in _QUOTED.sub("", sql).rstrip("; \n")


def wrote_nothing(sql: str, rows: int) -> bool:
    """Return whether a statement with this ``rowcount`` surely changed no row, like the UPDATE of a new row's save."""
    # SQLite counts the rows of RETURNING only after they were fetched. The count is that of one statement.
    return rows == 0 and "RETURNING" not in sql.upper() and not _has_several(sql)


def find_table(sql: str) -> str:
    """Return the table of a model that a statement of ``may_write`` writes to, "" if it only reads, or ``ANY``."""
    if _has_several(sql):
        return ANY
    if _QUERY.match(sql):
        return ""
    start = _BEGINNING.match(sql)
    assert start is not None
    found = _WRITTEN.match(sql, start.end())
    if found is None:
        # A statement about several tables, or the call of a procedure.
        return ANY
    # A schema is written as in ``db_table``: inventory"."book
    name = found["table"].replace("`", '"').replace('"."', "\0").strip('"').replace("\0", '"."')
    # Otherwise it is a partition, a view, or a name in other letters.
    return name if name in _list_tables() else ANY


@cache
def _list_tables() -> frozenset[str]:
    models = apps.get_models(include_auto_created=True)
    return frozenset(str(model._meta.db_table) for model in models)
