"""Scores in SQL: Redis has doubles, to which several values of a column may be rounded, and into which any bound fits.

Conditions compare the column with the first value that has at least a score, so that they can use an index of it.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf, nextafter
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import connections, models
from django.db.models.expressions import Col
from django.db.models.functions import Cast, Round

from mirror.conf import setting
from mirror.declare.fields import make_plain
from mirror.declare.indexes import read_score
from mirror.declare.paths import find_value_field

Bound = float | Decimal | date | datetime | None  # of scores; inclusive

EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
EXACT_DIGITS: Final = 15  # two decimals of so many digits never have the same double
NOTHING: Final = models.Q(pk__in=[])


class Values(NamedTuple):
    """The values of a column, numbered in their order. read: returns a value's score; make: returns the value."""

    first: int
    last: int
    read: Callable[[int], float]
    make: Callable[[int], Any]

    def find(self, score: float) -> int:
        """Return the number of the first value with at least this score, or ``last + 1``."""
        low, high = self.first, self.last + 1
        while low < high:
            middle = (low + high) // 2
            if self.read(middle) >= score:
                high = middle
            else:
                low = middle + 1
        return low


def write_score(value: Any) -> float:
    """Return a bound, or the value of a column in the form of JSON, as a score."""
    if isinstance(value, date):
        value = make_plain(value)
    return float(read_score(value))


def compare(name: str, field: "models.Field[Any, Any]", comparison: str, score: float) -> models.Q:
    """Return the condition for rows with a score in this relation to ``score``: lt, lte, gt or gte."""
    values = _number_values(field)
    if values is None:
        return models.Q(**{f"{name}__{comparison}": score})
    # Below or above the first value with at least this score, or with a higher one
    bound = score if comparison in ("lt", "gte") else nextafter(score, inf)
    number = values.find(bound)
    is_below = comparison in ("lt", "lte")
    if values.first < number <= values.last:
        return models.Q(**{f"{name}__{'lt' if is_below else 'gte'}": values.make(number)})
    has_none = is_below == (number == values.first)
    return NOTHING if has_none else ~NOTHING


def equals(name: str, field: "models.Field[Any, Any]", scores: Iterable[float]) -> models.Q:
    """Return the condition for rows with exactly one of these scores."""
    values = _number_values(field)
    if values is None:
        return models.Q(**{f"{name}__in": list(scores)})
    single: list[Any] = []
    condition = NOTHING
    for score in scores:
        first, following = values.find(score), values.find(nextafter(score, inf))
        if following - first == 1:
            single.append(values.make(first))
        elif first < following:
            condition |= models.Q(**{f"{name}__range": (values.make(first), values.make(following - 1))})
    return condition | models.Q(**{f"{name}__in": single})


def _number_values(field: "models.Field[Any, Any]") -> Values | None:
    """Return the possible values of a column, or None for doubles, which are the scores themselves."""
    if isinstance(field, models.IntegerField):
        return Values(-(2**63), 2**63 - 1, float, int)
    if isinstance(field, models.DateTimeField):
        low, high = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        numbers = (low - EPOCH) // MICROSECOND, (high - EPOCH) // MICROSECOND
        return Values(*numbers, lambda number: number / 10**6, _make_moment)
    if isinstance(field, models.DateField):
        start = EPOCH.toordinal()
        numbers = 1, date.max.toordinal()
        return Values(*numbers, lambda number: (number - start) * 86400.0, date.fromordinal)
    if isinstance(field, models.DecimalField):
        assert field.max_digits is not None, field
        exponent, last = -(field.decimal_places or 0), 10**field.max_digits - 1

        def make_decimal(number: int) -> Decimal:
            return Decimal(number).scaleb(exponent)

        return Values(-last, last, lambda number: float(make_decimal(number)), make_decimal)
    return None


def _make_moment(number: int) -> datetime:
    moment = EPOCH + number * MICROSECOND
    return moment if settings.USE_TZ else moment.replace(tzinfo=None)


def build_score(name: str, column: Any) -> Any:
    """Return an expression in place of a score that SQL cannot compare as Redis does, or None.

    name: of the score in the query. column: what it refers to.
    """
    field = find_value_field(column.output_field)
    if isinstance(field, models.BooleanField):
        return Cast(name, models.IntegerField())
    if not isinstance(field, models.DecimalField):
        return None
    if isinstance(column, Col) and field.max_digits is not None and field.max_digits <= EXACT_DIGITS:
        return None
    score: Any = models.F(name)
    if connections[setting("DATABASE")].vendor == "sqlite":
        # As Django reads it: SQLite has decimals as doubles, of which 15 digits count, and sums of more places.
        digits = models.Func(models.Value("%.14e"), score, function="printf", output_field=models.TextField())
        score = Cast(digits, models.FloatField())
        if field.decimal_places is not None:
            score = Round(score, field.decimal_places)
    return Cast(score, models.FloatField())


def build_order(name: str, field: "models.Field[Any, Any]") -> Any:
    """Return an expression that orders rows as their scores are ordered. Rounded ones may be equal."""
    # Ids that the database assigns do not reach 2**53, and a page of them is read from their index.
    if isinstance(field, models.BigIntegerField) and not isinstance(field, models.BigAutoField):
        return Cast(name, models.FloatField())
    return models.F(name)
