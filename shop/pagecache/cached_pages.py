"""Declare the cached pages of this site."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from catalog import keys
from catalog.books import extras
from catalog.selectors import get_book_page
from catalog.signals import book_shown
from mirror.read import Asked
from shop.book_views import counting_ahead
from shop.pagecache.registry import CachedPage, register_page


def _make_book_read(pk: int) -> Asked:
    return Asked.of(["book"], lambda pipe: pipe.get(keys.book(pk)))


def _make_extras_read(pk: int) -> Asked:
    return Asked.of(extras.page_extras.list_mirrors(), lambda pipe: extras.page_extras.add_commands(pipe, pk))


def _make_book_context(pk: int) -> Mapping[str, Any]:
    page = get_book_page(pk)
    return page._asdict() if page else {}


def _send_book_shown(request: HttpRequest, pk: int) -> None:
    book_shown.send(CachedPage, request=request, book_id=pk)


# Price, stock, posts and recommendations are cache fragments. The rest depends on the book's record alone.
BOOK_PAGE = register_page(
    CachedPage(
        "catalog:book",
        list_reads=_make_book_read,
        list_fragment_reads=_make_extras_read,
        build_context=_make_book_context,
        find_member=lambda pk: pk,
        report_view=_send_book_shown,
        queue_report=lambda pipe, request, digest, user, pk: counting_ahead.queue_view(pipe, request, pk, digest, user),
    )
)
