"""Places in a sorted list of rows: the values by which the list is sorted, and the conditions for the rows beyond."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import connections
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import OrderBy

NOTHING: Final = Q(pk__in=[])


@dataclass(frozen=True)
class Key:
    """One of the expressions that sort a list. nulls_last: where the database puts rows without a value."""

    name: str
    expression: Any
    is_descending: bool
    is_nullable: bool
    nulls_last: bool

    def reverse(self) -> "Key":
        """Return the expression of the opposite order."""
        return replace(self, is_descending=not self.is_descending, nulls_last=not self.nulls_last)

    def order(self) -> OrderBy:
        """Return the expression for ``order_by``."""
        return OrderBy(F(self.name), descending=self.is_descending)

    def beyond(self, value: Any, or_equal: str = "") -> Q:
        """Return the condition for rows that come after those with this value."""
        if value is None:
            return NOTHING if self.nulls_last else self._is_null(False)
        lookup = "lt" if self.is_descending else "gt"
        found = Q(**{f"{self.name}__{lookup}{or_equal}": value})
        # No comparison is true for NULL.
        if self.is_nullable and self.nulls_last:
            found |= self._is_null(True)
        return found

    def equals(self, value: Any) -> Q:
        """Return the condition for rows with this value."""
        return self._is_null(True) if value is None else Q(**{self.name: value})

    def _is_null(self, value: bool) -> Q:
        return Q(**{f"{self.name}__isnull": value})


def find_keys(rows: QuerySet[Any]) -> list[Key]:
    """Return the expressions by which the rows are sorted."""
    # PostgreSQL sorts NULL after all values, SQLite before them.
    is_null_greatest = connections[rows.db].vendor == "postgresql"
    keys = []
    items: Sequence[Any] = list(dict.fromkeys(rows.query.order_by))
    for number, item in enumerate(items):
        if isinstance(item, str):
            name = item.lstrip("-")
            is_descending = item.startswith("-")
            expression: Any = F(name)
        else:  # an OrderBy
            name = ""
            is_descending = bool(item.descending)
            expression = item.expression
        nulls_last = is_descending != is_null_greatest
        keys.append(Key(f"_key_{number}", expression, is_descending, _is_nullable(rows, name), nulls_last))
    return keys


def _is_nullable(rows: QuerySet[Any], name: str) -> bool:
    """Return whether a column may be empty. Expressions and columns of other tables may."""
    if name == "pk":
        return False
    try:
        return bool(rows.model._meta.get_field(name).null)
    except FieldDoesNotExist:
        return True


def build_cut(keys: Sequence[Key], values: Sequence[Any]) -> Q:
    """Return the condition for rows after the row with these values."""
    found = NOTHING
    same = Q()
    for key, value in zip(keys, values, strict=True):
        found |= same & key.beyond(value)
        same &= key.equals(value)
    if values[0] is None or len(keys) == 1:
        return found
    # Databases find the start in an index only by a condition that is no alternative of another.
    return keys[0].beyond(values[0], "e") & found


def format_place(row: Any, keys: Sequence[Key]) -> str:
    """Return the place of a row, for an address: the values by which the list is sorted."""
    values: list[str | None] = []
    for key in keys:
        value = getattr(row, key.name)
        values.append(None if value is None else str(value))
    return json.dumps(values, ensure_ascii=False)


def parse_place(place: str, keys: Sequence[Key], keyed: QuerySet[Any]) -> list[Any]:
    """Return the values of ``format_place``. Raises IncorrectLookupParameters, which leads to the first page."""
    try:
        fields = [keyed.query.annotations[key.name].output_field for key in keys]
        return [field.to_python(text) for field, text in zip(fields, json.loads(place), strict=True)]
    except (TypeError, ValueError, ValidationError) as error:
        raise IncorrectLookupParameters(error) from error
