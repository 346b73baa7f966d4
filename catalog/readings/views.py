"""The page of a reader's readings of a book, and the reader's own statistics."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from catalog.readings import services
from catalog.readings.pages import find_statistics_page
from catalog.readings.selectors import find_readings
from catalog.selectors import get_book
from catalog.shelves.forms import ReadingForm, get_last_date
from catalog.shelves.models import Privacy, Shelf
from catalog.shelves.selectors import find_entry, get_shelf_summary
from catalog.shelves.services import ReadingDates
from catalog.shelves.views import check_rate_limit, get_first_error, render_refusal
from catalog.shelves.widgets import show_entry
from common.refusals import Refused
from common.web import get_user_id, json_response, personal_page, redirect_to, wants_json


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def readings_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the reader's readings of a book and the progress; add, change or delete one of them: see ``ReadingForm``."""
    book = get_book(pk)
    if book is None:
        raise Http404
    address = reverse("catalog:readings", args=[pk])
    if request.method == "POST":
        return _change(request, pk, address)
    user_id = get_user_id(request)
    entry = find_entry(user_id, pk)
    context = {
        "book": book,
        "found": find_readings(user_id, pk),
        "entry": show_entry(entry, book["pages"]) if entry else None,
        "last_date": get_last_date(),
        "address": address,
    }
    return render(request, "catalog/shelves/readings.html", context)


@require_safe
@personal_page
def own_statistics(request: HttpRequest) -> HttpResponse:
    """Show the statistics of one of the reader's years: ``?year=``."""
    user_id = get_user_id(request)
    page = find_statistics_page(user_id, request.GET)
    if wants_json(request):
        return json_response({**page.json, "goal": page.found.goal})
    privacy = get_shelf_summary(user_id, page.found.year).privacy[Shelf.READ]
    context = {
        "statistics": page,
        "address": reverse("shelves:statistics"),
        "is_own": True,
        "is_public": privacy == Privacy.PUBLIC,
    }
    return render(request, "catalog/shelves/statistics.html", context)


def _change(request: HttpRequest, book_id: int, address: str) -> HttpResponse:
    if refusal := check_rate_limit(request, address):
        return refusal
    form = ReadingForm(request.POST)
    if not form.is_valid():
        return render_refusal(request, get_first_error(form), 400, address)
    try:
        is_found = _apply_change(get_user_id(request), book_id, form.cleaned_data)
    except services.NotPossible:
        return render_refusal(request, _("Put the book on a shelf first."), 400, address)
    except Refused as error:
        return render_refusal(request, str(error), 400, address)
    if not is_found:
        raise Http404
    return redirect_to(address)


def _apply_change(user_id: int, book_id: int, given: dict[str, Any]) -> bool:
    is_finished = not given["is_abandoned"]
    match given["action"]:
        case "add":
            dates = ReadingDates().change(given["dates"])
            services.add_reading(user_id, book_id, dates, is_finished=is_finished)
            return True
        case "change":
            return services.change_reading(user_id, given["row"], given["dates"], is_finished=is_finished)
        case "delete":
            return services.delete_reading(user_id, given["row"])
    return services.delete_progress(user_id, given["row"])
