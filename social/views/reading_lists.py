"""Readers' lists of books as others may see them, in HTML and JSON."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

import mirror
from catalog.lists.selectors import find_list_page, find_lists, get_list
from common.paths import make_path
from social.profiles.selectors import read_texts
from social.relations.audience import find_visible_levels
from social.relations.profiles import get_profile, get_profile_by_name
from social.views.people import redirect_to_spelling, respond


@require_safe
@never_cache
def lists_of_reader(request: HttpRequest, name: str) -> HttpResponse:
    """Show the lists of a reader that the visitor may see."""
    person = get_profile_by_name(name, request.user.pk)
    if person is None or person.name != name or person.is_blocked:
        return redirect_to_spelling(request, None if person and person.is_blocked else person, "lists/")
    if person.is_locked:
        return respond(request, "social/person.html", {"person": person}, {"results": []})
    with mirror.together() as reads:
        about = reads(read_texts, person)
        lists = reads(find_lists, person.id, find_visible_levels(person), has_books=True)
    context = {"person": person, "about": about.value, "lists": lists.value}
    return respond(request, "social/lists.html", context, {"results": [one.json for one in lists.value]})


@require_safe
@never_cache
def one_list(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a list (``?after=``). A list that the visitor may not see is a 404, as a missing one."""
    found = get_list(pk)
    person = get_profile(found["user"], request.user.pk) if found else None
    if found is None or person is None or person.is_blocked:
        raise Http404
    if found["privacy"] not in find_visible_levels(person, [found["privacy"]]):
        raise Http404
    page = find_list_page(found, request.GET.get("after", ""))
    address = make_path("social:list", pk)
    data: dict[str, Any] = {name: found[name] for name in ("id", "name", "description", "privacy", "order")}
    data |= {
        "user": {"id": person.id, "name": person.name},
        "count": page.total,
        "results": [placed.json for placed in page.books],
        "next": f"{address}?after={page.after}" if page.after else None,
    }
    context = {"person": person, "list": found, "page": page, "address": address}
    return respond(request, "social/list.html", context, data)
