"""Filters of the list of books. Other applications may register more in ``AppConfig.ready``.

A filter reads its parameters with the fields of a Django form and turns them into a *narrowing*, which holds a look-up
for the copy in the process and a condition for SQL. Both find the same books.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog import keys
from catalog.books.languages import find_spellings, get_language_name, normalise_code


@dataclass(frozen=True)
class SetNarrowing:
    """The books in a Redis set of a mirror that writes to the catalogue's feed. condition: the equivalent for SQL."""

    key: str
    condition: Q


@dataclass(frozen=True)
class RangeNarrowing:
    """The books with keys from ``low`` to ``high`` (None: no limit) in an order. condition: the equivalent for SQL."""

    sort: str
    low: int | None
    high: int | None
    condition: Q


Narrowing = SetNarrowing | RangeNarrowing
FilterValues = Mapping[str, Any]  # the cleaned values of a filter's parameters; None or "" for missing ones


@dataclass(frozen=True)
class Filter:
    """A filter of the list of books.

    fields: returns the form fields of its parameters, by their names in addresses. narrow: returns the narrowing for
    values of which at least one is given. describe: returns a label of the narrowing for people.
    """

    fields: Callable[[], Mapping[str, forms.Field]]
    narrow: Callable[[FilterValues], Narrowing]
    describe: Callable[[FilterValues], str]


@dataclass(frozen=True)
class ActiveFilter:
    """A filter in use: the names of its parameters, and its label for people."""

    names: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class ChosenFilters:
    """The filters that a request's parameters select.

    given: the non-empty parameters of filters, as typed. errors: error messages by parameter. With an error, no filter
    is applied.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    narrowings: tuple[Narrowing, ...] = ()
    active: tuple[ActiveFilter, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)


NO_FILTERS: Final = ChosenFilters()


def read_filters(parameters: Mapping[str, str]) -> ChosenFilters:
    """Return the filters that a request's parameters select."""
    known = {name: filter_ for filter_ in _filters.values() for name in filter_.fields()}
    given = {name: parameters[name].strip() for name in known if parameters.get(name, "").strip()}
    if not given:
        return NO_FILTERS
    form = forms.Form(given)
    form.fields = {name: made for filter_ in _filters.values() for name, made in filter_.fields().items()}
    form.is_valid()
    errors = {name: str(messages[0]) for name, messages in form.errors.items()}
    narrowings, active = [], []
    for filter_ in dict.fromkeys(known[name] for name in given):
        names = tuple(name for name in filter_.fields() if name in given)
        values = {name: form.cleaned_data.get(name) for name in filter_.fields()}
        if errors.keys() & set(names) or not any(value not in (None, "") for value in values.values()):
            continue
        try:
            narrowings.append(filter_.narrow(values))
            active.append(ActiveFilter(names, filter_.describe(values)))
        except ValidationError as error:
            errors.update({name: messages[0] for name, messages in error.message_dict.items()})
    return ChosenFilters(given, errors=errors) if errors else ChosenFilters(given, tuple(narrowings), tuple(active))


def read_range(values: FilterValues, low: str, high: str) -> tuple[Any, Any]:
    """Return the limits of a range. Raises ValidationError if the lower limit is above the upper one."""
    first, last = values[low], values[high]
    if first is not None and last is not None and first > last:
        raise ValidationError({low: _("This is above the upper limit.")})
    return first, last


def describe_range(first: Any, last: Any) -> str:
    """Return the label of a range: "1990–2000", "from 1990", "to 2000"."""
    if first is None:
        return str(format_lazy(_("to {last}"), last=last))
    return str(format_lazy(_("from {first}"), first=first)) if last is None else f"{first}–{last}"


def build_range_condition(column: str, low: Any, high: Any) -> Q:
    """Return the condition that a column is from ``low`` to ``high`` (None: no limit)."""
    limits = {f"{column}__gte": low, f"{column}__lte": high}
    return Q(**{name: limit for name, limit in limits.items() if limit is not None})


_filters: Final[dict[str, Filter]] = {}


def register_filter(name: str, filter_: Filter) -> None:
    """Register a filter, after the filters that are already registered."""
    _filters[name] = filter_


# --- the catalogue's own filters --------------------------------------------------------------------

LANGUAGE, YEAR_FROM, YEAR_TO = "language", "year_from", "year_to"


def _make_language_fields() -> Mapping[str, forms.Field]:
    message = gettext("A language is a code of two or three letters, like “en”.")
    return {LANGUAGE: forms.RegexField(r"^[A-Za-z]{2,3}$", required=False, error_messages={"invalid": message})}


def _narrow_language(values: FilterValues) -> Narrowing:
    code = normalise_code(values[LANGUAGE])
    condition = Q(pk__in=[])
    for spelling in find_spellings(code):
        condition |= Q(language__iexact=spelling) | Q(language__istartswith=f"{spelling}-")
    return SetNarrowing(keys.language(code), condition)


def _make_year_field() -> forms.Field:
    return forms.IntegerField(min_value=-9999, max_value=9999, required=False)


def _narrow_years(values: FilterValues) -> Narrowing:
    low, high = read_range(values, YEAR_FROM, YEAR_TO)
    return RangeNarrowing("newest", low, high, build_range_condition("year", low, high))


register_filter(
    LANGUAGE,
    Filter(_make_language_fields, _narrow_language, lambda values: get_language_name(normalise_code(values[LANGUAGE]))),
)
register_filter(
    "year",
    Filter(
        lambda: {YEAR_FROM: _make_year_field(), YEAR_TO: _make_year_field()},
        _narrow_years,
        lambda values: describe_range(values[YEAR_FROM], values[YEAR_TO]),
    ),
)
