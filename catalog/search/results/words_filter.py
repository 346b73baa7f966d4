"""The filter of lists of books by the words of a search, which gives the results the orders and filters of lists."""

from collections.abc import Mapping
from typing import Final

from django import forms
from django.utils.translation import gettext

from catalog.listing.filters import Filter, FilterValues, IdsNarrowing, Narrowing, register_filter
from catalog.search.selectors import MAX_QUERY_LENGTH, find_matching_books

WORDS: Final = "words"  # the parameter


def register() -> None:
    """Register the filter."""
    register_filter(WORDS, Filter(_make_fields, _narrow, _describe))


def _make_fields() -> Mapping[str, forms.Field]:
    return {WORDS: forms.CharField(max_length=MAX_QUERY_LENGTH, required=False)}


def _narrow(values: FilterValues) -> Narrowing:
    return IdsNarrowing(frozenset(find_matching_books(values[WORDS])))


def _describe(values: FilterValues) -> str:
    return gettext("“%(words)s”") % {"words": values[WORDS]}
