"""Filters of the list of books, and the sets of books that they read. Other applications may register more filters in
``AppConfig.ready``.

A filter reads its parameters with the fields of a Django form and turns them into a *narrowing*, which holds a look-up
for the copy in the process and a condition for SQL. Both find the same books.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog import keys
from catalog.values.languages import find_spellings, get_language_name, normalise_code


class BookSets(NamedTuple):
    """Sets of the books with the same value, for a ``SetNarrowing``. ``BookMirror`` writes them.

    make_key: returns the key of a value's set; of "": what all keys begin with. list_values: returns the values of a
    book, from its record.
    """

    make_key: Callable[[str], str]
    list_values: Callable[[Mapping[str, Any]], Iterable[str]]


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


@dataclass(frozen=True)
class IdsNarrowing:
    """The books with these ids."""

    ids: frozenset[int]

    @property
    def condition(self) -> Q:
        """The equivalent for SQL."""
        return Q(pk__in=self.ids)


Narrowing = SetNarrowing | RangeNarrowing | IdsNarrowing
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
    fields = _make_fields()
    given = _read_given(fields.values(), parameters)
    if not given:
        return NO_FILTERS
    form = _validate(fields.values(), given)
    errors = _get_messages(form.errors)
    narrowings, active = [], []
    for filter_, names in fields.items():
        given_names = tuple(name for name in names if name in given)
        if not given_names or not errors.keys().isdisjoint(given_names):
            continue
        values = _pick_values(form, names)
        if not _has_value(values):
            continue
        try:
            narrowings.append(filter_.narrow(values))
            active.append(ActiveFilter(given_names, filter_.describe(values)))
        except ValidationError as error:
            errors.update(_get_messages(error.message_dict))
    if errors:
        return ChosenFilters(given, errors=errors)
    return ChosenFilters(given, tuple(narrowings), tuple(active))


def list_parameters() -> list[str]:
    """Return the names of the parameters of all filters."""
    names: list[str] = []
    for fields in _make_fields().values():
        names += fields
    return names


def _make_fields() -> dict[Filter, Mapping[str, forms.Field]]:
    return {filter_: filter_.fields() for filter_ in _filters.values()}


def _validate(fields: Iterable[Mapping[str, forms.Field]], given: Mapping[str, str]) -> forms.Form:
    """Return a form with the fields of all filters, validated with the given parameters."""
    form = forms.Form(given)
    for made in fields:
        form.fields.update(made)
    form.is_valid()
    return form


def _pick_values(form: forms.Form, names: Iterable[str]) -> dict[str, Any]:
    return {name: form.cleaned_data.get(name) for name in names}


def _read_given(fields: Iterable[Iterable[str]], parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the non-empty parameters of filters, stripped."""
    given = {}
    for names in fields:
        for name in names:
            text = parameters.get(name, "").strip()
            if text:
                given[name] = text
    return given


def _get_messages(errors: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the first message about each parameter."""
    return {name: str(messages[0]) for name, messages in errors.items()}


def _has_value(values: FilterValues) -> bool:
    # Zero is a value: it is a year, and a price.
    return any(value not in (None, "") for value in values.values())


def read_range(values: FilterValues, low: str, high: str) -> tuple[Any, Any]:
    """Return the limits of a range. Raises ValidationError if the lower limit is above the upper one."""
    first, last = values[low], values[high]
    if first is not None and last is not None and first > last:
        raise ValidationError({low: _("The first value is above the second.")})
    return first, last


def describe_range(first: Any, last: Any) -> str:
    """Return the label of a range: "1990–2000", "from 1990", "to 2000"."""
    if first is None:
        return str(format_lazy(_("to {last}"), last=last))
    if last is None:
        return str(format_lazy(_("from {first}"), first=first))
    return f"{first}–{last}"


def build_range_condition(column: str, low: Any, high: Any) -> Q:
    """Return the condition that a column is from ``low`` to ``high`` (None: no limit)."""
    condition = Q()
    if low is not None:
        condition &= Q(**{f"{column}__gte": low})
    if high is not None:
        condition &= Q(**{f"{column}__lte": high})
    return condition


_filters: Final[dict[str, Filter]] = {}


def register_filter(name: str, filter_: Filter) -> None:
    """Register a filter, after the filters that are already registered."""
    _filters[name] = filter_


# --- the catalogue's own filters --------------------------------------------------------------------

LANGUAGE, YEAR_FROM, YEAR_TO = "language", "year_from", "year_to"


def _list_languages(record: Mapping[str, Any]) -> list[str]:
    code = normalise_code(record["language"])
    return [code] if code else []


BOOK_SETS: Final = (
    BookSets(keys.books_by, lambda record: record["author_ids"]),  # the page of an author reads it
    BookSets(keys.language, _list_languages),
)


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
