"""Pages of the reader's own shelves, in HTML and JSON, and the forms that change them."""

from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates
from accounts.views import describe_wait
from catalog.readings import services as readings
from catalog.readings.undo import restore_snapshot, sign_undo, take_snapshot
from catalog.selectors import get_book
from catalog.shelves import services
from catalog.shelves.arrangements import parse_arrangement
from catalog.shelves.forms import EntryForm, GoalForm, PrivacyForm, Unit, get_today
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.records import count_stars
from catalog.shelves.selectors import find_entry, find_shelf_page, get_shelf_summary
from catalog.shelves.snapshots import NotUndoable
from catalog.shelves.widgets import (
    CARD_TEMPLATE,
    build_tabs,
    render_card_shelf,
    render_own_parts,
    render_readers,
)
from common.ids import MAX_ID
from common.refusals import Refused
from common.web import (
    get_next_address,
    get_user_id,
    is_partial,
    json_error,
    json_response,
    personal_page,
    redirect_to,
    redirect_to_view,
    require_login,
    wants_json,
)
from mirror.read import read_from_sql

UNDOABLE: Final = ("shelf", "rate", "remove")


@require_safe
@personal_page
def own_shelves(request: HttpRequest) -> HttpResponse:
    """Redirect to the first shelf."""
    return redirect_to_view("shelves:shelf", Shelf.WANT)


@require_safe
@personal_page
def own_shelf(request: HttpRequest, shelf: Shelf) -> HttpResponse:
    """Show one of the reader's own shelves: ``?sort=&stars=&year=&tag=&look=&after=``.

    The template gets ``page``, a ShelfPage, and ``shelves``, a Shelves.
    """
    user_id, year = get_user_id(request), get_today().year
    shelves = get_shelf_summary(user_id, year)
    chosen = parse_arrangement(request.GET)
    page = find_shelf_page(user_id, shelf, request.GET.get("after", ""), chosen)
    address = reverse("shelves:shelf", args=[shelf])
    if wants_json(request):
        goal = {"year": year, "books": shelves.goal, "finished": shelves.finished}
        return json_response(
            {
                "shelf": shelf.value,
                "privacy": shelves.privacy[shelf],
                "count": shelves.counts[shelf],
                "results": [entry.json for entry in page.entries],
                "next": f"{address}?{chosen.parameters}after={page.after}".replace(" ", "+") if page.after else None,
                "goal": goal,
            }
        )
    context = {
        "shelf": shelf,
        "address": address,
        "next_start": f"?{chosen.parameters}",
        "chosen": chosen,
        "page": page,
        "shelves": shelves,
        "tabs": build_tabs(shelves, list(Shelf), lambda one: reverse("shelves:shelf", args=[one]), chosen.look),
        "privacies": Privacy.choices,
        "privacy": shelves.privacy[shelf],
        "year": year,
        "max_goal": GoalForm.base_fields["books"].max_value,  # type: ignore[attr-defined]
        "is_own": True,
    }
    return render(request, "catalog/shelves/own.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def change_entry(request: HttpRequest, pk: int) -> HttpResponse:
    """Shelve, rate, date or remove a book, or note progress: see ``EntryForm``. htmx gets the new button of the
    book's page. A move, a removal and another rating can be undone.

    GET redirects to the book, because the log-in page leads back to this address.
    """
    if pk > MAX_ID:
        raise Http404
    book_page = reverse("catalog:book", args=[pk])
    if request.method != "POST":
        return redirect_to(book_page)
    if not request.user.is_authenticated:
        return require_login(request, book_page)
    user_id, is_on_card = get_user_id(request), "on_card" in request.POST
    if refusal := check_rate_limit(request, book_page):
        return refusal
    form = EntryForm(request.POST)
    if not form.is_valid():
        return render_refusal(request, get_first_error(form), 400, book_page)
    given = form.cleaned_data
    before = take_snapshot(user_id, pk) if given["action"] in UNDOABLE else None
    try:
        _apply_change(user_id, pk, given)
    except services.BookNotFound as error:
        raise Http404 from error
    except readings.NotPossible:
        return render_refusal(request, _("Put the book on the shelf “Reading” first."), 400, book_page)
    except Refused as error:
        return render_refusal(request, str(error), 400, book_page)
    if is_on_card and not wants_json(request):
        return _answer_card(request, user_id, pk)
    # Given to the page, not stored.
    snapshot = sign_undo(user_id, before) if before else ""
    return _answer_change(request, pk, given["action"], _describe_change(given), snapshot)


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def undo_change(request: HttpRequest, pk: int) -> HttpResponse:
    """Restore the entry as it was before a change: ``snapshot``."""
    if pk > MAX_ID:
        raise Http404
    book_page = reverse("catalog:book", args=[pk])
    if request.method != "POST":
        return redirect_to(book_page)
    if refusal := check_rate_limit(request, book_page):
        return refusal
    try:
        restore_snapshot(get_user_id(request), pk, request.POST.get("snapshot", ""), get_today())
    except services.BookNotFound as error:
        raise Http404 from error
    except NotUndoable as error:
        return render_refusal(request, str(error), 400, book_page)
    return _answer_change(request, pk, "undo", _("Undone."), "")


def _describe_change(given: dict[str, Any]) -> str:
    match given["action"]:
        case "shelf":
            return _("Now on the shelf “%(shelf)s”.") % {"shelf": given["shelf"].label}
        case "rate":
            return _("Your rating was changed.")
        case "remove":
            return _("Removed from your shelves.")
    return ""


def _answer_change(request: HttpRequest, book_id: int, action: str, text: str, snapshot: str) -> HttpResponse:
    """Return the answer to a change. snapshot: the state before it, or "" if it cannot be undone."""
    user_id = get_user_id(request)
    if wants_json(request):
        return json_response({"entry": _build_entry_json(user_id, book_id), "undo": snapshot or None})
    if is_partial(request):
        return _answer_button(request, user_id, book_id, action, _render_undo(request, book_id, text, snapshot))
    # A form without a text, such as the dates, shows its change itself.
    if text:
        messages.success(request, _render_undo(request, book_id, text, snapshot))
    return redirect_to(get_next_address(request, reverse("catalog:book", args=[book_id]) + "#shelf"))


def _render_undo(request: HttpRequest, book_id: int, text: str, snapshot: str) -> SafeString:
    """Return the text about a change, with a form that undoes it."""
    context = {"address": reverse("catalog:undo", args=[book_id]), "text": text, "snapshot": snapshot}
    return render_to_string("catalog/shelves/_undo.html", {**context, "target": "#shelf"}, request)


def _build_entry_json(user_id: int, book_id: int) -> dict[str, Any] | None:
    entry = find_entry(user_id, book_id)
    return None if entry is None else {**entry, "stars": count_stars(entry["stars"])}


def _answer_button(request: HttpRequest, user_id: int, book_id: int, action: str, undo: SafeString) -> HttpResponse:
    """Return the new button of the book's page, the new numbers of its readers, and a form that undoes the change."""
    book = get_book(book_id)
    if book is None:
        raise Http404
    # From SQL, because Redis may be behind.
    with read_from_sql():
        own = render_own_parts(request, user_id, book_id, book["pages"], action=action)
        readers = render_readers(request, book_id, is_part=True)
    # The form with the button "Undo", which has the focus, is gone after it.
    context = {"undo": undo, "is_part": True, "takes_focus": action == "undo"}
    changed = own.shelf + own.rating + readers.mean + readers.ratings
    return HttpResponse(changed + render_to_string("catalog/shelves/_changed.html", context, request))


def _answer_card(request: HttpRequest, user_id: int, book_id: int) -> HttpResponse:
    """Return the new shelf of a card to htmx; redirect others back to the card."""
    anchor = f"#card-{book_id}"
    if not is_partial(request):
        return redirect_to(get_next_address(request, reverse("catalog:list")) + anchor)
    book, entry = get_book(book_id), find_entry(user_id, book_id)
    if book is None:
        raise Http404
    is_anchor = request.POST["on_card"] != "strip"
    return HttpResponse(render_card_shelf(book_id, book["title"], entry, is_anchor=is_anchor, is_part=True))


def _apply_change(user_id: int, book_id: int, given: dict[str, Any]) -> None:
    match given["action"]:
        case "shelf":
            services.put_on_shelf(user_id, book_id, given["shelf"], get_today())
        case "rate":
            services.rate_book(user_id, book_id, given["stars"], get_today())
        case "dates":
            services.set_reading_dates(user_id, book_id, given["dates"])
        case "progress":
            is_percent, amount = given["unit"] == Unit.PERCENT, given["amount"]
            position = readings.Position(percent=amount) if is_percent else readings.Position(page=amount)
            readings.note_progress(user_id, book_id, position, given["note"], get_today())
        case "pages":
            readings.set_pages(user_id, book_id, given["pages"])
        case "remove":
            services.remove_from_shelf(user_id, book_id)


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def change_goal(request: HttpRequest) -> HttpResponse:
    """Set or remove the goal of this year, or of the last one if the page is as old."""
    form = GoalForm(request.POST)
    if request.method == "POST" and not form.is_valid():
        return render_refusal(request, get_first_error(form), 400, reverse("shelves:shelf", args=[Shelf.READ]))
    if request.method == "POST":
        services.set_goal(get_user_id(request), **form.cleaned_data)
    return redirect_to(get_next_address(request, reverse("shelves:shelf", args=[Shelf.READ])))


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def change_privacy(request: HttpRequest, shelf: Shelf) -> HttpResponse:
    """Set the privacy of a shelf."""
    address = reverse("shelves:shelf", args=[shelf])
    form = PrivacyForm(request.POST)
    if request.method == "POST" and not form.is_valid():
        return render_refusal(request, get_first_error(form), 400, address)
    if request.method == "POST":
        services.set_privacy(get_user_id(request), shelf, form.cleaned_data["privacy"])
        messages.success(request, _("Saved."))
    return redirect_to(address)


def get_first_error(form: Form) -> str:
    """Return the first error of an invalid form."""
    return str(next(iter(form.errors.values()))[0])


def check_rate_limit(request: HttpRequest, address: str) -> HttpResponse | None:
    """Return a refusal if the reader has changed shelves too often. address: the page to go back to."""
    seconds = count_at_rates("shelf", request.user.pk, settings.SHELF_RATES)
    if not seconds:
        return None
    why = _("That was too often. Try again in %(wait)s.") % {"wait": describe_wait(seconds)}
    response = render_refusal(request, why, 429, address)
    response.headers["Retry-After"] = str(seconds)
    return response


def render_refusal(request: HttpRequest, why: str, status: int, address: str = "") -> HttpResponse:
    """Return an answer that nothing was changed. htmx gets only the message, and shows it in place of the button."""
    if wants_json(request):
        return json_error(why, status)
    # A note that was typed is shown again, so that it can be copied.
    context = {"why": why, "back": address, "note": request.POST.get("note", "")}
    if not is_partial(request):
        template = "catalog/shelves/refused.html"
    else:
        template = CARD_TEMPLATE if "on_card" in request.POST else "catalog/shelves/_refused.html"
    return render(request, template, context, status=status)
