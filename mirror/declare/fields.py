"""Fields of a record that a declaration names.

A field is the path of a column ("title", "publisher__name"), a list over a relation (``Values``, ``Names``, ``Ids``)
or an aggregate over one (``Count``, ``Sum``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from enum import Enum
from math import isfinite
from typing import Any, Final
from uuid import UUID

from django.db import models
from django.db.models.functions import Coalesce

from mirror.declare.conditions import prefix_condition, resolve_condition
from mirror.declare.paths import (
    DeclarationError,
    Use,
    find_alias,
    find_field,
    find_value_field,
    is_loose_link,
    list_custom_methods,
    resolve_column,
    resolve_plain,
    resolve_relation,
    sort_uses,
)
from mirror.utils.queries import Keys
from mirror.utils.rows import all_rows


class NamedField:
    """A field of a record. name: the declared one, or "" for the default."""

    name: str

    @property
    def default_name(self) -> str:
        """Return the name of a field without a declared one."""
        raise NotImplementedError

    @property
    def record_name(self) -> str:
        """Return the name in the record."""
        return self.name or self.default_name


@dataclass(frozen=True)
class Column(NamedField):
    """A column under another name than its path: ``Column("publisher__name", name="publisher")``."""

    path: str
    name: str = ""

    @property
    def default_name(self) -> str:
        return self.path

    def find_uses(self, model: type[models.Model]) -> list[Use]:
        """Return the columns on the path."""
        column = resolve_column(model, self.path)
        if column.rest:
            raise DeclarationError(f"{self.path!r}: {column.field.name!r} has no {column.rest!r}")
        check_json(self.path, column.field)
        return column.uses

    def find_column(self, model: type[models.Model]) -> "models.Field[Any, Any]":
        """Return the field that determines the values."""
        field: models.Field[Any, Any] = find_value_field(resolve_column(model, self.path).field)
        return field


@dataclass(frozen=True)
class Values(NamedField):
    """A list of one column of related rows, in the order of their primary keys.

    relation: a many-to-many relation, or the other side of a foreign key, as in queries. field: a column of the related
    model, or "pk". name: of the field in the record; default: the relation. where: leaves other related rows out.
    """

    relation: str
    field: str
    name: str = ""
    where: models.Q | None = None

    @property
    def default_name(self) -> str:
        return self.relation

    def find_uses(self, model: type[models.Model]) -> list[Use]:
        """Return the columns that the list depends on."""
        column = resolve_column(resolve_plain(model, self.relation).related, self.field)
        if column.rest or any(use.key for use in column.uses):
            raise DeclarationError(f"{self.field!r} is no column of {self.relation!r}")
        check_json(self.field, column.field)
        return _find_uses(model, self.relation, self.where, "" if self.field == "pk" else self.field)

    def find_column(self, model: type[models.Model]) -> "models.Field[Any, Any]":
        """Return the field of the related model that determines the values."""
        related = resolve_plain(model, self.relation).related
        field: models.Field[Any, Any] = find_value_field(resolve_column(related, self.field).field)
        return field

    def select(self, model: type[models.Model], pks: Keys) -> "models.QuerySet[Any, Any]":
        """Return the query for the primary key of the mirrored row and the value, for each related row."""
        relation = resolve_relation(model, self.relation)
        # A link contains the primary key of its related row, so that row need not be joined for it.
        key = "pk" if relation.other is None else relation.other.attname
        column = key if self.field == "pk" else relation.prefix + self.field
        of_these_rows = models.Q(**{f"{relation.own.name}__in": pks})
        condition = prefix_condition(self.where, relation.prefix)
        rows = all_rows(relation.link).filter(relation.is_complete, condition, of_these_rows)
        return rows.order_by(key).values_list(relation.own.attname, column)


class Names(Values):
    """A list of the names of related rows, or of another column ``field``, in the order of their primary keys.

    relation: as in queries. name: of the list in the record; default: the relation. where: leaves other rows out.
    """

    def __init__(self, relation: str, field: str = "name", name: str = "", where: models.Q | None = None) -> None:
        super().__init__(relation, field, name, where)


class Ids(Values):
    """A list of the primary keys of related rows, ascending. The parameters are those of ``Names``."""

    def __init__(self, relation: str, name: str = "", where: models.Q | None = None) -> None:
        super().__init__(relation, "pk", name, where)


@dataclass(frozen=True)
class Count(NamedField):
    """The number of related rows. name: of the field in the record; default: ``<relation>_count``."""

    relation: str
    name: str = ""
    where: models.Q | None = None

    @property
    def default_name(self) -> str:
        return f"{self.relation}_count"

    def find_uses(self, model: type[models.Model]) -> list[Use]:
        """Return the columns that the number depends on."""
        return _find_uses(model, self.relation, self.where, "")

    def find_column(self, model: type[models.Model]) -> "models.Field[Any, Any]":
        """Return a field that determines the values."""
        return models.IntegerField()

    def build_expression(self, model: type[models.Model]) -> models.expressions.Combinable:
        """Return the number as a subquery."""
        return _build_aggregate(model, self.relation, self.where, models.Count("*"), self.find_column(model))


@dataclass(frozen=True)
class Sum(NamedField):
    """The sum of a column of related rows; 0 without any. name: default: ``<relation>_<field>_sum``."""

    relation: str
    field: str
    name: str = ""
    where: models.Q | None = None

    @property
    def default_name(self) -> str:
        return f"{self.relation}_{self.field}_sum"

    def find_uses(self, model: type[models.Model]) -> list[Use]:
        """Return the columns that the sum depends on."""
        field = find_value_field(find_field(resolve_plain(model, self.relation).related, self.field))
        # Verification would show a difference between two sums of the same rows.
        if isinstance(field, models.FloatField):
            raise DeclarationError(
                f"{self.field!r} of {self.relation!r} is a float, and a sum of floats depends on the order in which "
                "SQL reads the rows; use a DecimalField"
            )
        if not isinstance(field, (models.IntegerField, models.DecimalField)):
            raise DeclarationError(f"{self.field!r} of {self.relation!r} is no number")
        return _find_uses(model, self.relation, self.where, self.field)

    def find_column(self, model: type[models.Model]) -> "models.Field[Any, Any]":
        """Return a field that determines the values."""
        related = resolve_plain(model, self.relation).related
        field: models.Field[Any, Any] = find_value_field(find_field(related, self.field))
        if isinstance(field, models.IntegerField):
            # A sum can exceed the range of its column.
            return models.BigIntegerField()
        return field.clone()

    def build_expression(self, model: type[models.Model]) -> models.expressions.Combinable:
        """Return the sum as a subquery."""
        column = resolve_plain(model, self.relation).prefix + self.field
        return _build_aggregate(model, self.relation, self.where, models.Sum(column), self.find_column(model))


RecordField = str | Column | Values | Count | Sum


def _find_uses(model: type[models.Model], name: str, where: models.Q | None, column: str) -> list[Use]:
    """Return the columns of the relation, of its condition, and the column of the related rows, if any."""
    relation = resolve_plain(model, name)
    related = resolve_condition(relation.related, where)
    if column:
        related += resolve_column(relation.related, column).uses
    if any(use.key for use in related):
        raise DeclarationError(f"{name!r} depends on rows that point at the related ones, and cannot be watched")
    related = sort_uses(related)
    own = relation.own.column
    if relation.other is None:
        uses = [Use(relation.link, str(field.column), key=own) for field in relation.link._meta.pk_fields]
        return uses + [use.from_target(name, own) for use in related]
    # Only the links point at the mirrored row. The rows behind them are found by the path.
    uses = [Use(relation.link, relation.other.column, key=own)]
    is_loose = is_loose_link(relation.other)
    for use in related:
        # A link may precede its row: then each path over the links is loose as well.
        uses.append(use.behind(name)._replace(is_loose=use.is_loose or is_loose))
    return uses


def _build_aggregate(
    model: type[models.Model], name: str, where: models.Q | None, aggregate: Any, output: "models.Field[Any, Any]"
) -> models.expressions.Combinable:
    """Return an aggregate over the related rows as a subquery of the mirrored row."""
    relation = resolve_plain(model, name)
    of_this_row = models.Q(**{relation.own.name: models.OuterRef("pk")})
    condition = prefix_condition(where, relation.prefix)
    rows = all_rows(relation.link).filter(relation.is_complete, condition, of_this_row)
    alias = find_alias(relation.link, "mirror_value")
    # Without order_by() Django would group by the columns of the model's ordering as well.
    groups = rows.order_by().values(relation.own.name)
    summed = groups.annotate(**{alias: aggregate}).values(alias)
    return Coalesce(models.Subquery(summed, output_field=output), models.Value(0, output_field=output))


def _write_float(value: float) -> float | str:
    return value if isfinite(value) else str(value)


def _write_moment(value: datetime) -> str:
    # In UTC, so that equal moments are equal texts
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.isoformat()


CONVERSIONS: Final = frozenset(
    ["from_db_value", "to_python", "get_prep_value", "get_db_prep_value", "db_type", "value_to_string"]
)
# With one of these, a column has other values in SQL than in Python. to_python() leaves values of the right type alone.
STORED_OTHERWISE: Final = frozenset(["from_db_value", "get_prep_value", "get_db_prep_value", "db_type"])
JSON: Final = (str, int, list, dict, type(None))
_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    float: _write_float,
    UUID: str,
    datetime: _write_moment,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: timedelta.total_seconds,
}
LONG: Final = Context(prec=2000)  # a sum has more digits than its column, which has up to 1,000


def is_array(field: "models.Field[Any, Any]") -> bool:
    """Return whether a column is an array."""
    return isinstance(getattr(field, "base_field", None), models.Field) and not _is_range(field)


def _is_range(field: "models.Field[Any, Any]") -> bool:
    """Return whether a column is a range. These fields can be imported only with PostgreSQL's driver."""
    return hasattr(field, "range_type")


def is_converted(field: "models.Field[Any, Any]") -> bool:
    """Return whether a field of a project or library converts its values, so that SQL may have others than Python."""
    return not CONVERSIONS.isdisjoint(list_custom_methods(field))


def is_stored_otherwise(field: "models.Field[Any, Any]") -> bool:
    """Return whether a field of a project or library gives Python other values than SQL has."""
    return not STORED_OTHERWISE.isdisjoint(list_custom_methods(field))


def check_json(path: str, field: "models.Field[Any, Any]") -> None:
    """Raise DeclarationError if the values of a column cannot be written as JSON."""
    kind = find_value_field(field)
    if is_array(kind):
        check_json(path, kind.base_field)
    elif isinstance(kind, models.BinaryField):
        raise DeclarationError(f"{path!r} is binary, and records are JSON")
    elif hasattr(kind, "geom_type"):  # of django.contrib.gis, which needs libraries to be imported
        raise DeclarationError(
            f"{path!r} is a geometry, and records are JSON; mirror columns of text, or write record()"
        )
    elif _is_range(kind):
        raise DeclarationError(
            f"{path!r} is a range, and records are JSON; mirror its bounds from columns of their own, or write record()"
        )


def _write_decimal(value: Decimal, places: int | None) -> str:
    """Return a decimal with the decimal places of its column, which SQLite's sums lack."""
    if not value.is_finite():
        return str(value)
    if places is not None:
        value = value.quantize(Decimal(1).scaleb(-places), context=LONG)
    return format(value, "f")


def make_plain(value: Any, field: "models.Field[Any, Any] | None" = None) -> Any:
    """Return a column's value in the form of JSON: times as ISO 8601, durations in seconds, decimals as text.

    JSON has no infinite numbers: these are "inf", "-inf" and "nan". An enum becomes its value, and the values of an
    array become plain one by one. field: the one that determines the column's values. A value of its own type becomes
    what the field stores in SQL.
    """
    if type(value) is str:  # the usual value
        return value
    if type(value) is list:
        base_field = getattr(field, "base_field", None)
        return [make_plain(part, base_field) for part in value]
    if isinstance(value, Enum):
        return make_plain(value.value, field)
    if isinstance(value, str):
        # Of a subclass, whose own text may be another
        return str.__str__(value)
    if isinstance(value, Decimal):
        return _write_decimal(value, getattr(field, "decimal_places", None))
    convert = _PLAIN.get(type(value))
    if convert is not None:
        return convert(value)
    if field is None or isinstance(value, JSON):
        return value
    # A type of the project, whose field knows its form in SQL
    return make_plain(field.get_prep_value(value))
