"""Pages of the catalogue, in HTML or (``Accept: application/json``) in JSON."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import orjson
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import get_resolver, reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from catalog.covers import images
from catalog.covers.plans import read_cover_facts
from catalog.following.selectors import get_author_page
from catalog.listing.filters import list_parameters, read_filters
from catalog.listing.results import MAX_PAGES, BookList
from catalog.pictures import COVERS, PHOTOS
from catalog.selectors import (
    find_books,
    find_books_by_author,
    find_merged_author,
    find_series_page,
    get_book,
    get_book_page,
)
from catalog.signals import book_shown
from catalog.tags.aliases import find_used
from common.public_pages import public_page
from common.web import get_visitor, is_partial, json_error, json_response, redirect_to, wants_json

HOUR: Final = 3600  # seconds
YEAR: Final = 365 * 24 * HOUR


@require_safe
@public_page("q", "sort", "after", "pages", more=list_parameters)
def book_list(request: HttpRequest) -> HttpResponse:
    """List books: ``?q=QUERY&sort=&after=`` and the parameters of filters.

    The templates get ``page``, a ``listing.results.BookList``. ``pages=`` asks for several pages at once, at most
    MAX_PAGES. htmx puts it into the address of a list that has grown, so that a returning visitor sees the whole list
    again. An alias redirects to its tag. An invalid query or filter gets status 400 and an error that names its place.
    A request of htmx for the next page gets only its cards.
    """
    given = request.GET
    asked = given.get("q", ""), given.get("sort", ""), given.get("after", ""), read_filters(given)
    page = _find_pages(request, partial(find_books, *asked, viewer=_get_card_viewer(request)))
    unknown = [] if given.get("after") else [name for name, _ in page.answer.unknown]
    # Aliases are in SQL only, and asked for only where a tag is missing.
    if unknown and (meant := find_used(unknown)):
        return redirect_to(page.make_url_with_tags(meant))
    status = 400 if page.is_invalid else 200
    if wants_json(request):
        response = json_response(_build_error_json(page) if page.is_invalid else _build_results_json(page), status)
    else:
        more = _asks_for_next_page(request)
        template = "catalog/_cards.html" if more else "catalog/list.html"
        response = render(request, template, {"page": page}, status=status)
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


@require_safe
@public_page()
def book_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a book. The template gets ``book``, a ``BookRecord``, and ``extras``, the values of extras
    by name.
    """
    page = get_book_page(pk)
    if page is None:
        return _render_not_found(request, _("Book not found."))
    # Robust: a page is more important than the statistics of its views.
    book_shown.send_robust(book_page, request=request, book_id=pk)
    if wants_json(request):
        response = json_response(orjson.Fragment(page.json))
    else:
        response = render(request, "catalog/book.html", page._asdict())
    patch_vary_headers(response, ["Accept"])
    return response


@require_safe
def book_cover(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the cover of a book as PNG, for link previews: ``?v=``.

    Under its present version the image never changes. Under another one it may be cached for an hour.
    """
    book = get_book(pk)
    if book is None:
        raise Http404
    facts = read_cover_facts(book)
    response = HttpResponse(images.render_cover(facts), content_type="image/png")
    is_current = request.GET.get("v") == images.make_version(facts)
    age = {"max_age": YEAR, "immutable": True} if is_current else {"max_age": HOUR}
    # An address with an old version may be cached for an hour only, because its image changes with the book.
    patch_cache_control(response, public=True, **age)
    return response


@require_safe
def cover_file(request: HttpRequest, file: str) -> HttpResponseBase:
    """Return a file of an uploaded cover."""
    return COVERS.serve(file)


@require_safe
def photo_file(request: HttpRequest, file: str) -> HttpResponseBase:
    """Return a file of an author's photo."""
    return PHOTOS.serve(file)


@require_safe
@public_page("after", "pages")
def author_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an author and the author's books, most read first: ``?after=``.

    The template gets the fields of ``AuthorPage``, and ``page``, a ``BookList``. A request of htmx for the next
    page gets only its cards.
    """
    viewer = get_visitor(request)
    found_author = get_author_page(pk, viewer.pk if viewer else 0)
    if found_author is None:
        return _redirect_merged_author(request, pk)
    author = found_author.author
    after = request.GET.get("after", "")
    find_own_books = partial(find_books_by_author, pk, after, viewer=_get_card_viewer(request))
    page = _find_pages(request, find_own_books)
    if wants_json(request):
        found = _build_results_json(page)
        # Without facets: the filters of the list of books do not apply here.
        results = {name: found[name] for name in ("count", "results", "next")}
        response = json_response(author.fields | {"followers": found_author.followers} | results)
    else:
        template = "catalog/_cards.html" if _asks_for_next_page(request) else "catalog/author.html"
        response = render(request, template, {**found_author._asdict(), "page": page})
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


@require_safe
@public_page()
def series_page(request: HttpRequest, author: int, name: str) -> HttpResponse:
    """Show the volumes of an author's series in order, and how many of them the visitor has read.

    The template gets ``series``, a ``SeriesPage``.
    """
    series = find_series_page(author, name, _get_card_viewer(request))
    if series is None:
        into = find_merged_author(author)
        if into is not None:
            return redirect_to(reverse("catalog:series", args=[into, name]), status=301)
        return _render_not_found(request, _("Series not found."))
    if wants_json(request):
        volumes = [orjson.Fragment(book.raw) for book in series.books.books]
        response = json_response({"name": series.name, "author": series.author.fields, "volumes": volumes})
    else:
        response = render(request, "catalog/series.html", {"series": series, "page": series.books})
    patch_vary_headers(response, ["Accept"])
    return response


def _get_card_viewer(request: HttpRequest) -> int:
    """Return the id of the reader whose shelves the cards show; 0 for JSON and for anonymous visitors."""
    visitor = None if wants_json(request) else get_visitor(request)
    return visitor.pk if visitor else 0


def _asks_for_next_page(request: HttpRequest) -> bool:
    """Return whether htmx asks for the next page of a list on the screen."""
    return bool(request.GET.get("after")) and is_partial(request)


def _find_pages(request: HttpRequest, find: Callable[..., BookList]) -> BookList:
    """Return the requested pages of a list, with the start and the number of pages of the visitor's list."""
    given = request.GET
    if _asks_for_next_page(request):
        return replace(
            find(), start=given.get("start", ""), pages=_parse_page_count(given.get("loaded"), most=1_000_000)
        )
    pages = _parse_page_count(given.get("pages"), most=MAX_PAGES)
    return replace(find(pages=pages), start=given.get("after", ""), pages=pages)


def _parse_page_count(text: str | None, most: int) -> int:
    """Return a number of pages from 1 to ``most``; 1 for any other text."""
    if not text or not text.isascii() or not text.isdecimal():
        return 1
    # Python raises ValueError for numbers of thousands of digits.
    if len(text) >= 10:
        return 1
    return max(1, min(int(text), most))


def _redirect_merged_author(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect to the author into which another one was merged, for good; 404 if there is none."""
    author = find_merged_author(pk)
    if author is None:
        return _render_not_found(request, _("Author not found."))
    return redirect_to(reverse("author", args=[author]), status=301)


def _render_not_found(request: HttpRequest, message: str) -> HttpResponse:
    if wants_json(request):
        response = json_error(message, 404)
    else:
        # Render the site's own page instead of raising Http404, so that the response gets its Vary header.
        not_found: Any = get_resolver().resolve_error_handler(404)
        response = not_found(request, exception=Http404())
    patch_vary_headers(response, ["Accept"])
    return response


def _build_results_json(page: BookList) -> dict[str, Any]:
    return {
        "count": page.count,
        "results": [orjson.Fragment(book.raw) for book in page.books],
        "next": page.next_url,
        "facets": [{"name": name, "count": count} for name, count in page.answer.facets],
    }


def _build_error_json(page: BookList) -> dict[str, Any]:
    error = page.error
    if error is None:
        parameter, message = next(iter(page.chosen.errors.items()))
        return {"error": {"message": message, "parameter": parameter}}
    return {"error": {"message": str(error), "position": error.position, "length": error.length}}
