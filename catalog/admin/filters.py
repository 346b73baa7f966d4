"""Filters of the list of books."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from catalog.models import Book
from catalog.values.languages import CODES_BY_THREE_LETTERS, find_spellings, get_language_name, normalise_code


class YearFilter(admin.SimpleListFilter):
    """A filter by the year of first publication."""

    title = _("year")
    parameter_name = "years"
    RANGES: ClassVar[dict[str, dict[str, Any]]] = {
        "unknown": {"year__isnull": True},
        "bc": {"year__lt": 0},
        "1899": {"year__gte": 0, "year__lt": 1900},
        "1999": {"year__gte": 1900, "year__lt": 2000},
        "now": {"year__gte": 2000},
    }

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [
            ("now", _("since 2000")),
            ("1999", _("20th century")),
            ("1899", _("before 1900")),
            ("bc", _("BC")),
            ("unknown", _("unknown")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Book]) -> QuerySet[Book]:
        return queryset.filter(**self.RANGES.get(self.value() or "", {}))


class LanguageFilter(admin.SimpleListFilter):
    """A filter by language. Its choices are known languages: those of all books would be read from the whole table."""

    title = _("language")
    parameter_name = "language"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        codes = {normalise_code(code) for code in CODES_BY_THREE_LETTERS}
        choices = [(code, get_language_name(code)) for code in codes]
        return sorted(choices, key=lambda choice: choice[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Book]) -> QuerySet[Book]:
        value = self.value()
        if not value:
            return queryset
        condition = Q()
        for code in find_spellings(value):
            condition |= Q(language__iexact=code) | Q(language__istartswith=f"{code}-")
        return queryset.filter(condition)
