"""Point rows at another row, for merges of two rows into one."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet


def point_rows_at(rows: QuerySet[Any], column: str, target: int, unique_with: Sequence[str]) -> None:
    """Set ``column`` of rows to ``target``, and delete the rows that the target already has, in two statements.

    unique_with: the other columns of the unique constraint. No other rows depend on these rows, so they are not read.
    """
    same = rows.model._base_manager.filter(**{column: target}, **{name: OuterRef(name) for name in unique_with})
    # The rows in the way of the constraint stay, and are deleted below.
    rows.exclude(Exists(same)).update(**{column: target})
    rows._raw_delete(rows.db)
