"""The pages of the first steps. Each has a plain form or links, and may be skipped."""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from catalog.shelves.arrangements import HALVES
from catalog.shelves.forms import get_today
from catalog.shelves.views import check_rate_limit
from common.ids import parse_id
from common.paths import make_path
from common.web import get_user_id, personal_page, redirect_to_view
from social.welcome import services, steps
from social.welcome.suggestions import MAX_BOOKS, suggest_books, suggest_followees, suggest_genres

FIELD: Final = "stars-"  # the field of a rating ends with the id of the book


@require_safe
@personal_page
def overview(request: HttpRequest) -> HttpResponse:
    """List the steps and what the reader has done."""
    return render(request, "welcome/overview.html", {"progress": steps.find_progress(get_user_id(request))})


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def genres(request: HttpRequest) -> HttpResponse:
    """Show the most frequent tags; make those in ``genre`` the reader's genres."""
    user_id = get_user_id(request)
    if request.method == "POST":
        services.choose_genres(user_id, request.POST.getlist("genre"))
        messages.success(request, _("Saved."))
        return redirect_to_view("welcome:books")
    context = {"progress": steps.find_progress(user_id, steps.GENRES), "genres": suggest_genres(user_id)}
    return render(request, "welcome/genres.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def books(request: HttpRequest) -> HttpResponse:
    """Show popular books; rate those with a field ``stars-ID``. With ``more`` further books follow."""
    user_id = get_user_id(request)
    if request.method == "POST":
        if refusal := check_rate_limit(request, make_path("welcome:books")):
            return refusal
        services.rate_books(user_id, _parse_ratings(request.POST), get_today())
        messages.success(request, _("Saved."))
        return redirect_to_view("welcome:books" if "more" in request.POST else "welcome:readers")
    context = {"progress": steps.find_progress(user_id, steps.BOOKS), "books": suggest_books(user_id)}
    return render(request, "welcome/books.html", context)


@require_safe
@personal_page
def readers(request: HttpRequest) -> HttpResponse:
    """Show readers to follow."""
    user_id = get_user_id(request)
    context = {"progress": steps.find_progress(user_id, steps.READERS), "readers": suggest_followees(user_id)}
    return render(request, "welcome/readers.html", context)


@require_safe
@personal_page
def library(request: HttpRequest) -> HttpResponse:
    """Explain imports, with a link to their page."""
    return render(
        request, "welcome/library.html", {"progress": steps.find_progress(get_user_id(request), steps.LIBRARY)}
    )


def _parse_ratings(given: QueryDict) -> dict[int, int]:
    """Return the ratings in halves of a star by book. Invalid ones are left out, and all above MAX_BOOKS."""
    ratings: dict[int, int] = {}
    for name, text in given.items():
        book_id = parse_id(name.removeprefix(FIELD)) if name.startswith(FIELD) else None
        stars = HALVES.get(str(text))
        if book_id and stars and len(ratings) < MAX_BOOKS:
            ratings[book_id] = stars
    return ratings
