"""The form that combines tags: it adds a tag to the query of the list of books."""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog import query
from catalog.listing.filters import list_parameters
from catalog.search.selectors import search
from common.web import redirect_to

WAYS: Final[dict[str, Callable[[query.Node | None, str], str]]] = {
    "and": query.add_term,
    "or": query.add_alternative,
    "not": query.exclude_term,
}
MIN_TYPED_LENGTH: Final = 2  # letters of a tag that is completed


@require_safe
def combine_tags(request: HttpRequest) -> HttpResponse:
    """Redirect to the list of books with a tag added to its query: ``?q=QUERY&tag=&how=and|or|not``.

    The order and the filters of the list are kept.
    """
    given = request.GET
    parameters = {"q": _add_tag(given.get("q", ""), given.get("tag", ""), given.get("how", ""))}
    parameters.update({name: given.get(name, "") for name in ("sort", *list_parameters())})
    left = urlencode({name: value for name, value in parameters.items() if value})
    address = reverse("catalog:list")
    return redirect_to(f"{address}?{left}" if left else address)


def _add_tag(text: str, tag: str, how: str) -> str:
    """Return the text of the query with the tag. An invalid query is returned unchanged: the list shows its error."""
    name = _read_name(tag)
    if not name:
        return text
    try:
        node = query.parse(text)
    except query.QueryError:
        return text
    return WAYS.get(how, query.add_term)(node, name)


def _read_name(typed: str) -> str:
    """Return the name of a tag, which may be typed in quotation marks. What would be a query is a name here."""
    try:
        tag = query.parse(typed)
    except query.QueryError:
        return typed.strip()
    return tag.name if isinstance(tag, query.Tag) else typed.strip()


@require_safe
@never_cache
def complete_tag(request: HttpRequest) -> HttpResponse:
    """Return the tags that ``?tag=`` may mean, the most likely first, as options of a field."""
    typed = request.GET.get("tag", "").strip()
    found = search(typed, kinds="t").tags if len(typed) >= MIN_TYPED_LENGTH else []
    return render(request, "catalog/_tag_names.html", {"names": [tag.name for tag in found]})
