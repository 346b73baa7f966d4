"""The search page, its JSON, and the suggestions of the search box."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.search.selectors import SearchResults, search
from common.web import get_user_id, is_partial, json_response, wants_json

MIN_SUGGESTION_LENGTH: Final = 2  # letters of a text that gets suggestions
MAX_SUGGESTED_BOOKS: Final = 6  # books


@require_safe
@never_cache  # results depend on the visitor
def search_page(request: HttpRequest) -> HttpResponse:
    """Search: ``?q=WORDS``. htmx gets only suggestions.

    The templates get ``found``, a ``catalog.search.selectors.SearchResults``.
    """
    text = request.GET.get("q", "")
    max_books = None
    template = "search/results.html"
    if is_partial(request):
        max_books = MAX_SUGGESTED_BOOKS
        template = "search/_suggestions.html"
        if len(text.strip()) < MIN_SUGGESTION_LENGTH:
            text = ""
    found = search(text, get_user_id(request), max_books)
    if wants_json(request):
        response = json_response(_build_json(found))
    else:
        response = render(request, template, {"found": found, "search_query": found.query})
    patch_vary_headers(response, ["Accept", "HX-Request", "Cookie"])
    return response


def _build_json(found: SearchResults) -> dict[str, Any]:
    return {
        "books": [{name: book[name] for name in ("id", "title", "authors")} for book in found.books],
        "authors": [{"id": author.id, "name": author.name} for author in found.authors],
        "tags": [{"name": tag.name} for tag in found.tags],
        "readers": [{"name": reader.name} for reader in found.readers],
    }
