"""Declare the cached pages of this site."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from catalog import extras, keys
from catalog.selectors import get_book_page
from catalog.signals import book_shown
from mirror.prefetch import Asked
from shop.pagecache.pages import Page, register
from shop.viewing import ahead


def _book(pk: int) -> Asked:
    return Asked.of(["book"], lambda pipe: pipe.get(keys.book(pk)))


def _extras(pk: int) -> Asked:
    return Asked.of(extras.mirrors(), lambda pipe: extras.ask(pipe, pk))


def _page_of_book(pk: int) -> Mapping[str, Any]:
    page = get_book_page(pk)
    return page._asdict() if page else {}


def _book_shown(request: HttpRequest, pk: int) -> None:
    book_shown.send(Page, request=request, book_id=pk)


# Price, stock, posts and recommendations are cache fragments. The rest depends on the book's record alone.
BOOK = register(
    Page(
        "catalog:book",
        made_of=_book,
        along=_extras,
        values=_page_of_book,
        member=lambda pk: pk,
        shown=_book_shown,
        tells=lambda pipe, request, digest, user, pk: ahead.add(pipe, request, pk, digest, user),
    )
)
