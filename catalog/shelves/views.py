"""Pages of the reader's own shelves, in HTML and JSON, and the forms that change them."""

from datetime import date
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import allow
from accounts.views.too_many import in_words
from catalog.selectors import LARGEST_ID
from catalog.shelves import services
from catalog.shelves.forms import EntryForm, GoalForm, PrivacyForm
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.selectors import find_entry, find_on_shelf, get_shelves
from catalog.shelves.widgets import button_context, tabs
from config import clock
from config.answers import is_partial, json, personal, wants_json
from config.redirects import next_address, redirect_to, redirect_to_view


@require_safe
@personal
def own_shelves(request: HttpRequest) -> HttpResponse:
    """Redirect to the first shelf."""
    return redirect_to_view("shelves:shelf", Shelf.WANT)


@require_safe
@personal
def own_shelf(request: HttpRequest, shelf: Shelf) -> HttpResponse:
    """Show one of the reader's own shelves: ``?after=``.

    The template gets ``page``, a ShelfPage, and ``shelves``, a Shelves.
    """
    user_id, year = _user_id(request), today().year
    shelves = get_shelves(user_id, year)
    page = find_on_shelf(user_id, shelf, request.GET.get("after", ""))
    address = reverse("shelves:shelf", args=[shelf])
    if wants_json(request):
        goal = {"year": year, "books": shelves.goal, "finished": shelves.finished}
        return json(
            {
                "shelf": shelf.value,
                "privacy": shelves.privacy[shelf],
                "count": shelves.counts[shelf],
                "results": [entry.json for entry in page.entries],
                "next": f"{address}?after={page.after}".replace(" ", "+") if page.after else None,
                "goal": goal,
            }
        )
    context = {
        "shelf": shelf,
        "address": address,
        "page": page,
        "shelves": shelves,
        "tabs": tabs(shelves, list(Shelf), lambda one: reverse("shelves:shelf", args=[one])),
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
    """Shelve, rate, date or remove a book: see ``EntryForm``. htmx gets the new button of the book's page.

    GET redirects to the book, because the log-in page leads back to this address.
    """
    if pk > LARGEST_ID:
        raise Http404
    book_page = reverse("catalog:book", args=[pk])
    if request.method != "POST":
        return redirect_to(book_page)
    if not request.user.is_authenticated:
        return redirect_to_login(book_page) if not wants_json(request) else _refused(request, _("Log in first."), 401)
    user_id = _user_id(request)
    if refusal := _refuse_too_many(request, book_page):
        return refusal
    form = EntryForm(request.POST)
    if not form.is_valid():
        return _refused(request, _first_error(form), 400, book_page)
    try:
        _apply(user_id, pk, form.cleaned_data)
    except services.NoSuchBook as error:
        raise Http404 from error
    if wants_json(request):
        return json({"entry": find_entry(user_id, pk)})
    if is_partial(request):
        return render(request, "catalog/shelves/_button.html", button_context(request, user_id, pk, is_part=True))
    return redirect_to(next_address(request, f"{book_page}#shelf"))


def _apply(user_id: int, book_id: int, given: dict[str, Any]) -> None:
    match given["action"]:
        case "shelf":
            services.put_on_shelf(user_id, book_id, given["shelf"], today())
        case "rate":
            services.rate(user_id, book_id, given["stars"], today())
        case "dates":
            services.set_dates(user_id, book_id, given["started_on"], given["finished_on"])
        case "remove":
            services.remove_from_shelf(user_id, book_id)


@require_http_methods(["GET", "HEAD", "POST"])
@personal
def change_goal(request: HttpRequest) -> HttpResponse:
    """Set or remove the goal of this year."""
    form, year = GoalForm(request.POST), today().year
    if request.method == "POST" and not form.is_valid():
        return _refused(request, _first_error(form), 400, reverse("shelves:shelf", args=[Shelf.READ]))
    if request.method == "POST":
        services.set_goal(_user_id(request), year, form.cleaned_data["books"])
    return redirect_to(next_address(request, reverse("shelves:shelf", args=[Shelf.READ])))


@require_http_methods(["GET", "HEAD", "POST"])
@personal
def change_privacy(request: HttpRequest, shelf: Shelf) -> HttpResponse:
    """Set the privacy of a shelf."""
    address = reverse("shelves:shelf", args=[shelf])
    form = PrivacyForm(request.POST)
    if request.method == "POST" and not form.is_valid():
        return _refused(request, _first_error(form), 400, address)
    if request.method == "POST":
        services.set_privacy(_user_id(request), shelf, form.cleaned_data["privacy"])
        messages.success(request, _("Saved."))
    return redirect_to(address)


def today() -> date:
    """Return the present date in the site's time zone."""
    return timezone.localdate(clock.now())


def _user_id(request: HttpRequest) -> int:
    return int(request.user.pk or 0)


def _first_error(form: Form) -> str:
    return str(next(iter(form.errors.values()))[0])


def _refuse_too_many(request: HttpRequest, address: str) -> HttpResponse | None:
    waits = (allow(f"shelf-{seconds}", request.user.pk, limit, seconds) for limit, seconds in settings.SHELF_RATES)
    seconds = next(filter(None, waits), 0)
    if not seconds:
        return None
    why = _("Too many requests. Try again in %(wait)s.") % {"wait": in_words(seconds)}
    response = _refused(request, why, 429, address)
    response.headers["Retry-After"] = str(seconds)
    return response


def _refused(request: HttpRequest, why: str, status: int, address: str = "") -> HttpResponse:
    """Return an answer that nothing was changed. htmx gets only the message, and shows it in place of the button."""
    if wants_json(request):
        return json({"error": {"message": why}}, status)
    context = {"why": why, "back": address}
    template = "catalog/shelves/_refused.html" if is_partial(request) else "catalog/shelves/refused.html"
    return render(request, template, context, status=status)
