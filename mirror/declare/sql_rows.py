"""The rows in SQL that contribute to a structure of an index, for readers that Redis cannot answer.

A key names values as text. A row belongs to the structure if the text of its own value is exactly equal, as in Redis:
"01" is not 1, "A" is not "a" under any collation, and a value that the column cannot hold belongs to no row.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_ipv46_address
from django.db import connections, models
from django.db.models.functions import Cast, Collate, Round

from mirror.conf import setting
from mirror.declare.conditions import prefix_condition
from mirror.declare.fields import LONG, Column, Values, is_array, make_plain
from mirror.declare.indexes import Index, write_text
from mirror.declare.paths import find_alias, find_value_field, resolve_column, resolve_relation
from mirror.utils.rows import all_rows

if TYPE_CHECKING:
    from mirror.declare.layout import Layout

Rows = models.QuerySet[Any, Any]


class FoundIndex(NamedTuple):
    """A declared index with a structure at a key. candidates: values that the placeholders of the key may have."""

    declared: Index
    candidates: list[dict[str, str]]


COLLATIONS: Final = {"postgresql": "C", "sqlite": "BINARY"}  # that compare text by its bytes, as Redis does
# Django's errors for a text that is no value of a column
NO_VALUE: Final = (ValidationError, ValueError, TypeError, ArithmeticError)
TEXT_FIELDS: Final = (models.CharField, models.TextField, models.FileField, models.FilePathField)


def find_rows(layout: "Layout", found: "list[FoundIndex]") -> Rows:
    """Return the rows that contribute to a structure by one of these indexes. Each appears once."""
    parts = [filter_rows(layout, one.declared, one.candidates) for one in found]
    if len(parts) == 1:
        return parts[0]
    condition = models.Q()
    for rows in parts:
        condition |= models.Q(pk__in=rows.values("pk"))
    return all_rows(layout.model).filter(condition)


def filter_rows(layout: "Layout", index: Index, candidates: list[dict[str, str]]) -> Rows:
    """Return the rows that contribute to a structure by an index."""
    rows = all_rows(layout.model).filter(layout.where or models.Q())
    # The joins of the records' query, which leave out rows whose foreign key leads nowhere
    joins = {}
    for number, path in enumerate(layout.inner_paths):
        alias = find_alias(layout.model, f"mirror_path_{number}")
        joins[alias] = models.F(path)
    rows = rows.annotate(**joins)
    rows = _filter_by_when(rows, layout, index)
    if not index.template.names:
        return rows
    for name in layout.expressions.keys() & {index.over, *index.template.names}:
        rows = rows.annotate(**{layout.aliases[name]: layout.expressions[name]})
    condition = models.Q(pk__in=[])  # no row
    for values in candidates:
        equal = _match_values(layout, index, values)
        if equal is not None:
            condition |= equal
    return rows.filter(condition)


def order_by_bytes(name: str) -> Collate:
    """Return an expression of a column's text that is compared by its bytes."""
    return Collate(Cast(name, models.TextField()), COLLATIONS[connections[setting("DATABASE")].vendor])


def parse_value(field: "models.Field[Any, Any]", text: str) -> Any:
    """Return the value of a column whose text in a key is exactly ``text``, or None if the column has no such value."""
    field = find_value_field(field)
    if "\0" in text and connections[setting("DATABASE")].vendor == "postgresql":
        # PostgreSQL refuses it in a parameter.
        return None
    try:
        value = _convert_text(field, text)
        if isinstance(field, models.IntegerField):
            # Checks the range.
            field.run_validators(value)
        if isinstance(field, models.GenericIPAddressField):
            # Of either protocol, because only forms check that of the field.
            validate_ipv46_address(value)
        usual_text = write_text(make_plain(value, field))
    except NO_VALUE:
        return None
    if text.startswith("-") and value == 0:
        # SQL does not distinguish it from 0.
        return None
    return value if text == usual_text else None


def _convert_text(field: "models.Field[Any, Any]", text: str) -> Any:
    """Return the value as SQL returns it, so that it has the same text."""
    if isinstance(field, models.DurationField):
        return timedelta(seconds=float(text))
    value = field.to_python(text)
    if isinstance(value, Decimal):
        return _quantize(value, field.decimal_places)  # type: ignore[attr-defined]
    if isinstance(value, datetime) and settings.USE_TZ:
        return value.astimezone(UTC) if value.tzinfo else None
    return value


def _quantize(value: Decimal, places: int | None) -> Decimal | None:
    """Return a decimal with the places of its column. None: of any number."""
    if not value.is_finite():
        return None
    if places is None:
        return value
    return value.quantize(Decimal(1).scaleb(-places), context=LONG)


def _match_values(layout: "Layout", index: Index, values: Mapping[str, str]) -> models.Q | None:
    """Return the condition for rows with these values, or None if no row can have them."""
    condition = models.Q()
    for placeholder, text in values.items():
        name = index.over if placeholder == "value" else placeholder
        if name == index.over and text == "":
            # Values without a text have no structure of their own, as in ``Index.compile``.
            return None
        equal = _match_value(layout, name, text)
        if equal is None:
            return None
        condition &= equal
    return condition


def _match_value(layout: "Layout", name: str, text: str) -> models.Q | None:
    """Return the condition for rows with this text in a field, or None if no row can have it."""
    if name == "pk":
        return _match_column(layout.model, "pk", text)
    field = layout.fields[name]
    if isinstance(field, Column):
        return _match_column(layout.model, field.path, text)
    if isinstance(field, Values):
        return _match_list(layout.model, field, text)
    return _match_expression(layout, name, text)


def _match_expression(layout: "Layout", name: str, text: str) -> models.Q | None:
    output = layout.kinds[name]
    value = parse_value(output, text)
    if value is None:
        return None
    if not isinstance(output, models.DecimalField):
        return models.Q(**{layout.aliases[name]: value})
    # SQLite adds decimals up as floats, and compares them with a text as unequal.
    places = output.decimal_places
    number = Cast(models.Value(value, output_field=output), models.DecimalField(max_digits=1000, decimal_places=places))
    return models.Q(models.lookups.Exact(Round(models.F(layout.aliases[name]), places), number))


def _match_column(model: type[models.Model], path: str, text: str) -> models.Q | None:
    field = resolve_column(model, path).field
    if is_array(field):
        return _match_array(field, path, text)
    value = parse_value(field, text)
    if text == "":
        # This is the text of a missing value as well.
        is_missing = models.Q(**{f"{path}__isnull": True})
        return is_missing if value is None else is_missing | models.Q(**{path: value})
    return None if value is None else _build_equality(field, path, value)


def _match_array(field: Any, path: str, text: str) -> models.Q | None:
    # Each value of an array has a structure.
    from django.contrib.postgres.fields import ArrayField  # needs psycopg

    part = find_value_field(field.base_field)
    value = parse_value(part, text)
    if value is None or (isinstance(value, Decimal) and not _has_digits_for(part, value)):
        return None
    contains = models.Q(**{f"{path}__contains": [value]})
    if isinstance(part, TEXT_FIELDS):
        # The first half uses an index. In it Django cuts the value to the length of the column, and a collation may
        # hold different texts for equal.
        texts = ArrayField(models.TextField())
        lookup: Any = texts.get_lookup("contains")
        contains &= models.Q(lookup(Collate(Cast(path, texts), COLLATIONS["postgresql"]), [str(value)]))
    return contains


def _has_digits_for(field: Any, value: Decimal) -> bool:
    """Return whether a column can hold a decimal, because Django's cast of an array's parameter fails otherwise."""
    return field.max_digits is None or value.adjusted() < field.max_digits - field.decimal_places


def _build_equality(field: "models.Field[Any, Any]", path: str, value: Any) -> models.Q:
    """Return the condition for an equal value.

    A collation of the column may hold different texts for equal; the first half of the condition uses its index.
    """
    field = find_value_field(field)
    equal = models.Q(**{path: value})
    if isinstance(field, models.DurationField):
        return models.Q(**{f"{path}__range": _find_durations(value)})
    if isinstance(field, TEXT_FIELDS):
        text = models.Value(str(value), output_field=models.TextField())
        equal &= models.Q(models.lookups.Exact(order_by_bytes(path), text))
    return equal


def _find_durations(value: timedelta) -> tuple[timedelta, timedelta]:
    """Return the shortest and the longest duration with these seconds: of centuries, several have one float."""
    low = high = value
    step, seconds = timedelta(microseconds=1), value.total_seconds()
    while low > timedelta.min and (low - step).total_seconds() == seconds:
        low -= step
    while high < timedelta.max and (high + step).total_seconds() == seconds:
        high += step
    return low, high


def _match_list(model: type[models.Model], field: Values, text: str) -> models.Q | None:
    """Return the condition for rows with a related row that has this value and meets the list's condition."""
    relation = resolve_relation(model, field.relation)
    column = resolve_column(relation.related, field.field).field
    value = parse_value(column, text)
    if value is None:
        return None
    equal = _build_equality(column, relation.prefix + field.field, value)
    return models.Q(pk__in=_list_links(model, field).filter(equal))


def _list_links(model: type[models.Model], field: Values) -> Rows:
    """Return the keys of the rows that have related rows in the list."""
    relation = resolve_relation(model, field.relation)
    condition = prefix_condition(field.where, relation.prefix)
    links = all_rows(relation.link).filter(relation.is_complete, condition)
    if field.field != "pk":
        # The join of the records' query, which leaves out links that lead nowhere
        alias = find_alias(relation.link, "mirror_path")
        links = links.annotate(**{alias: models.F(relation.prefix + field.field)})
    return links.order_by().values(relation.own.attname)


def _filter_by_when(rows: Rows, layout: "Layout", index: Index) -> Rows:
    """Return the rows whose field ``when`` is true in their record."""
    name = index.when_field
    if not name:
        return rows
    field = layout.fields[name]
    if isinstance(field, Values):
        return rows.filter(pk__in=_list_links(layout.model, field))
    if isinstance(field, Column):
        path = field.path
    else:
        path = layout.aliases[name]
        rows = rows.annotate(**{path: layout.expressions[name]})
    rows = rows.exclude(**{f"{path}__isnull": True})
    zero = _find_false(layout.kinds[name])
    if zero is None:
        return rows
    if zero == "":
        # Byte by byte, because a collation may ignore blanks
        empty = models.Value("", models.TextField())
        return rows.exclude(models.lookups.Exact(order_by_bytes(path), empty))
    return rows.exclude(**{path: zero})


def _find_false(field: "models.Field[Any, Any]") -> Any:
    """Return the value of a column that is false in a record, or None if only a missing one is.

    A decimal is text in a record, and so are dates and times: all of their values are true.
    """
    zeros: dict[type[models.Field[Any, Any]], Any] = {
        models.BooleanField: False,
        models.IntegerField: 0,
        models.FloatField: 0.0,
        models.DurationField: timedelta(0),
    }
    if is_array(field):
        return []
    if isinstance(field, TEXT_FIELDS):
        return ""
    for kind, zero in zeros.items():
        if isinstance(field, kind):
            return zero
    return None
