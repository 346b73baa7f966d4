"""A reader's shelves as others may see them, in HTML and JSON."""

from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

import mirror
from catalog.readings import find_picture_facts, find_statistics_page, load_statistics, render_picture
from catalog.shelves.arrangements import parse_arrangement
from catalog.shelves.forms import get_today
from catalog.shelves.models import Shelf
from catalog.shelves.selectors import find_shelf_page, get_shelf_summary
from catalog.shelves.widgets import build_tabs
from common.paths import make_path
from social.profiles.selectors import read_texts
from social.relations.audience import find_visible_levels
from social.relations.profiles import Profile, get_profile_by_name
from social.views.people import redirect_to_spelling, respond

MAX_YEAR: Final = 9999


@require_safe
@never_cache
def shelves(request: HttpRequest, name: str) -> HttpResponse:
    """Show the shelves that the visitor may see, and the books of one of them.

    The address has ``?shelf=&after=``, and the order, the filters and the look: ``sort=&stars=&year=&tag=&look=``.
    """
    person = get_profile_by_name(name, request.user.pk)
    if person is None or person.name != name:
        return redirect_to_spelling(request, person, "shelves/")
    if person.is_blocked or person.is_locked:
        return respond(request, "social/person.html", {"person": person}, {"shelves": [], "results": [], "next": None})
    with mirror.together() as reads:
        about = reads(read_texts, person)
        summary = reads(get_shelf_summary, person.id, get_today().year)
    found = summary.value
    shown = found.shown_to(find_visible_levels(person, found.privacy.values()))
    wanted = request.GET.get("shelf", "")
    shelf = next((one for one in shown if one == wanted), shown[0] if shown and not wanted else None)
    if shelf is None and wanted:
        return redirect_to_spelling(request, None, "")
    chosen = parse_arrangement(request.GET)
    page = find_shelf_page(person.id, shelf, request.GET.get("after", ""), chosen) if shelf else None
    address = f"{person.url}shelves/"
    next_start = f"?shelf={shelf}&{chosen.parameters}"
    data = {
        "shelves": [{"name": one.value, "count": found.counts[one]} for one in shown],
        "results": [entry.json for entry in page.entries] if page else [],
        "next": f"{address}{next_start}after={page.after}".replace(" ", "+") if page and page.after else None,
    }
    context = {
        "person": person,
        "about": about.value,
        "shelf": shelf,
        "page": page,
        "address": address,
        "next_start": next_start,
        "chosen": chosen,
        "has_statistics": Shelf.READ in shown,
        "tabs": build_tabs(found, shown, lambda one: f"{address}?shelf={one.value}", chosen.look),
    }
    return respond(request, "social/shelves.html", context, data)


@require_safe
@never_cache
def statistics(request: HttpRequest, name: str) -> HttpResponse:
    """Show the statistics of one of a reader's years (``?year=``), as far as the visitor may see the shelves.

    Without the shelf "read" there are none.
    """
    person = get_profile_by_name(name, request.user.pk)
    if person is None or person.name != name:
        return redirect_to_spelling(request, person, "shelves/statistics/")
    with mirror.together() as reads:
        about = reads(read_texts, person)
        found = reads(_find_shown, person)
    shown = found.value
    if Shelf.READ not in shown:
        return redirect_to_spelling(request, None, "")
    page = find_statistics_page(person.id, request.GET, shown)
    context = {
        "person": person,
        "about": about.value,
        "statistics": page,
        "address": make_path("social:statistics", person.name),
        "picture": make_path("social:year_picture", person.name, page.found.year),
    }
    return respond(request, "social/statistics.html", context, page.json)


@require_safe
@never_cache
def year_picture(request: HttpRequest, name: str, year: int) -> HttpResponse:
    """Return the picture of a reader's year as PNG, to share."""
    person = get_profile_by_name(name, request.user.pk)
    if not 0 < year <= MAX_YEAR:
        raise Http404
    if person is None or person.name != name:
        return redirect_to_spelling(request, person, f"shelves/{year}.png")
    shown = _find_shown(person)
    if Shelf.READ not in shown:
        raise Http404
    facts = find_picture_facts(person.name, load_statistics(person.id, year, shown))
    return HttpResponse(render_picture(facts), content_type="image/png")


def _find_shown(person: Profile) -> list[Shelf]:
    """Return the shelves that the visitor may see."""
    if person.is_blocked:
        return []
    found = get_shelf_summary(person.id, get_today().year)
    return found.shown_to(find_visible_levels(person, found.privacy.values()))
