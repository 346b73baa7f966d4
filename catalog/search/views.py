"""The search page, its JSON, and the suggestions of the search box."""

from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.listing import sorts
from catalog.search.entries import WORD_LISTS
from catalog.search.results.values import SearchResults
from catalog.search.results.words_filter import WORDS
from catalog.search.selectors import MAX_PAGES, search
from catalog.selectors import find_books
from common.web import get_user_id, is_partial, json_response, wants_json

MIN_SUGGESTION_LENGTH: Final = 2  # letters of a text that gets suggestions
MAX_SUGGESTED_BOOKS: Final = 6  # books
MAX_POPULAR_BOOKS: Final = 6  # books on a page without results
READER_SIGNS: Final = ("@", "＠")  # before the name of a reader
READERS: Final = "r"  # the kind of readers in ``catalog.search.entries``
NOT_READERS: Final = WORD_LISTS.replace(READERS, "")
BOXES: Final = ("seek", "find")  # the ids of search boxes: in the header, and on the front page


@require_safe
@never_cache  # results depend on the visitor
def search_page(request: HttpRequest) -> HttpResponse:
    """Search: ``?q=WORDS&page=``. htmx gets only suggestions, for the search box ``?box=``.

    Readers are found if an @ precedes the words, because many readers have the names of books; the JSON has both. The
    templates get ``found``, a ``catalog.search.results.values.SearchResults``.
    """
    text = request.GET.get("q", "")
    if is_partial(request):
        return _vary(_suggest(request, text))
    if wants_json(request):
        return _vary(json_response(_build_json(search(text, get_user_id(request), page=1))))
    found = search(text, get_user_id(request), page=_parse_page(request.GET.get("page", "")), kinds=_choose_kinds(text))
    shown: dict[str, Any] = {"found": found, "search_query": found.query}
    if found.books:
        shown |= {"sorts": _build_sort_links(found), "pages": _build_page_links(found)}
    elif found.query:
        shown["popular"] = find_books(viewer=get_user_id(request), is_brief=True)
        shown["max_popular"] = MAX_POPULAR_BOOKS
    return _vary(render(request, "search/results.html", shown))


def _suggest(request: HttpRequest, text: str) -> HttpResponse:
    if len(text.strip()) < MIN_SUGGESTION_LENGTH:
        text = ""
    box = request.GET.get("box", "")
    found = search(text, get_user_id(request), MAX_SUGGESTED_BOOKS, kinds=_choose_kinds(text))
    return render(request, "search/_suggestions.html", {"found": found, "box": box if box in BOXES else BOXES[0]})


def _vary(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["Accept", "HX-Request", "Cookie"])
    return response


def _choose_kinds(text: str) -> str:
    return READERS if text.strip().startswith(READER_SIGNS) else NOT_READERS


def _parse_page(text: str) -> int:
    """Return a number of a page from 1 to ``MAX_PAGES``; 1 for any other text."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 5
    return min(max(1, int(text)), MAX_PAGES) if is_number else 1


def _build_sort_links(found: SearchResults) -> list[tuple[str, Any]]:
    """Return the addresses and labels of the list of the same books in other orders."""
    address = reverse("catalog:list")
    links = []
    for sort in sorts.all_sorts():
        given = {WORDS: found.query}
        if sort.name != sorts.DEFAULT_SORT:
            given["sort"] = sort.name
        links.append((f"{address}?{urlencode(given)}", sort.label))
    return links


def _build_page_links(found: SearchResults) -> dict[str, str]:
    """Return the addresses of the pages before and after, as far as they exist."""
    address = reverse("search:search")
    links = {}
    if found.page > 1:
        links["previous"] = f"{address}?{urlencode({'q': found.query, 'page': found.page - 1})}"
    if found.page < found.page_count:
        links["next"] = f"{address}?{urlencode({'q': found.query, 'page': found.page + 1})}"
    return links


def _build_json(found: SearchResults) -> dict[str, Any]:
    return {
        "books": [{name: book[name] for name in ("id", "title", "authors")} for book in found.books],
        "authors": [{"id": author.id, "name": author.name} for author in found.authors],
        "tags": [{"name": tag.name} for tag in found.tags],
        "readers": [{"name": reader.name} for reader in found.readers],
        "count": found.count,
    }
