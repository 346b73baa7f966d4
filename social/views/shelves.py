"""A reader's shelves as others may see them, in HTML and JSON."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.shelves.selectors import find_shelf_page, get_shelf_summary
from catalog.shelves.views import get_today
from catalog.shelves.widgets import build_tabs
from social.relations.audience import find_visible_levels
from social.relations.profiles import get_profile_by_name
from social.views.people import redirect_to_spelling, respond


@require_safe
@never_cache
def shelves(request: HttpRequest, name: str) -> HttpResponse:
    """Show the shelves that the visitor may see, and the books of one of them (``?shelf=&after=``)."""
    person = get_profile_by_name(name, request.user.pk)
    if person is None or person.name != name:
        return redirect_to_spelling(request, person, "shelves/")
    if person.is_blocked or person.is_locked:
        return respond(request, "social/person.html", {"person": person}, {"shelves": [], "results": [], "next": None})
    found = get_shelf_summary(person.id, get_today().year)
    shown = found.shown_to(find_visible_levels(person, found.privacy.values()))
    wanted = request.GET.get("shelf", "")
    shelf = next((one for one in shown if one == wanted), shown[0] if shown and not wanted else None)
    if shelf is None and wanted:
        return redirect_to_spelling(request, None, "")
    page = find_shelf_page(person.id, shelf, request.GET.get("after", "")) if shelf else None
    address = f"{person.url}shelves/"
    data = {
        "shelves": [{"name": one.value, "count": found.counts[one]} for one in shown],
        "results": [entry.json for entry in page.entries] if page else [],
        "next": f"{address}?shelf={shelf}&after={page.after}".replace(" ", "+") if page and page.after else None,
    }
    context = {
        "person": person,
        "shelf": shelf,
        "page": page,
        "address": address,
        "next_start": f"?shelf={shelf}&",
        "tabs": build_tabs(found, shown, lambda one: f"{address}?shelf={one.value}"),
    }
    return respond(request, "social/shelves.html", context, data)
