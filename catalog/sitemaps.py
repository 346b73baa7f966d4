"""Sitemaps of books and authors, one range of ids for each file (keyset, never OFFSET)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.core.paginator import EmptyPage, PageNotAnInteger
from django.db.models import Max, Model
from django.urls import reverse

from catalog.models import Author, Book

IDS_PER_FILE: Final = 5000  # ids in a file
MAX_FILES: Final = 50_000  # files in an index: the limit of the protocol


class _FilePage(NamedTuple):
    """The addresses of one file."""

    object_list: Sequence[Any]


class _IdRangePaginator:
    """A paginator with ranges of ids as pages, and with the interface of Django's paginator."""

    def __init__(self, model: type[Model]) -> None:
        self._rows = model._base_manager.order_by("pk")

    @property
    def num_pages(self) -> int:
        """The number of files, at least one."""
        # By the highest id and not by the number of rows: a deletion then moves no other address to another file.
        last = self._rows.aggregate(last=Max("pk"))["last"] or 1
        return min(-(-int(last) // IDS_PER_FILE), MAX_FILES)

    def page(self, number: int | str) -> _FilePage:
        """Return the file with this number, counted from 1. Raises EmptyPage or PageNotAnInteger."""
        try:
            place = int(number)
        except ValueError:
            raise PageNotAnInteger from None
        if not 1 <= place <= MAX_FILES:
            raise EmptyPage
        found = self._rows.filter(pk__gt=(place - 1) * IDS_PER_FILE, pk__lte=place * IDS_PER_FILE)
        return _FilePage(list(found.values_list("pk", flat=True)))


class SiteSitemap(Sitemap):
    """A sitemap with addresses of SITE_URL, for requests to any host."""

    protocol = urlsplit(settings.SITE_URL).scheme

    def get_domain(self, site: Any = None) -> str:
        return urlsplit(settings.SITE_URL).netloc


class _RowSitemap(SiteSitemap):
    model: type[Model]
    view: str

    @property
    def paginator(self) -> Any:
        return _IdRangePaginator(self.model)

    def location(self, item: int) -> str:
        return reverse(self.view, args=[item])


class BookSitemap(_RowSitemap):
    """The pages of all books."""

    model, view = Book, "catalog:book"


class AuthorSitemap(_RowSitemap):
    """The pages of all authors."""

    model, view = Author, "author"
