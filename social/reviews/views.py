"""Reviews of a book and the form of one's own, in HTML and (``Accept: application/json``) in JSON."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates, count_event
from accounts.views import describe_wait
from catalog.selectors import get_book
from catalog.shelves.forms import StarsField
from catalog.shelves.records import count_stars, write_stars
from catalog.shelves.selectors import find_entry
from catalog.shelves.services import BookNotFound
from common import clock
from common.ids import parse_id
from common.paths import make_path
from common.public_pages import public_page
from common.web import (
    get_user_id,
    get_viewer_id,
    json_error,
    json_response,
    personal_page,
    redirect_to_view,
    wants_json,
)
from social.reviews.forms import ReviewForm
from social.reviews.models import Review
from social.reviews.selectors import BookReviews, Order, get_reviews
from social.reviews.services import LANGUAGES, find_review, write_review


@require_safe
@public_page("order", "stars", "after")
def book_reviews(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the reviews of a book: ``?order=&stars=&after=``.

    The template gets ``reviews``, a BookReviews, ``order`` and ``stars``, the chosen stars in halves or None.
    """
    book = get_book(pk)
    if book is None:
        raise Http404
    order, stars = _parse_order(request.GET.get("order")), _parse_stars(request.GET.get("stars"))
    after = parse_id(request.GET.get("after", "")) or None
    found = get_reviews(pk, get_viewer_id(request), order, stars, after)
    path = make_path("reviews:book", pk)
    chosen = {"stars": write_stars(stars)} if stars else {"order": order.value}
    next_address = f"{path}?{urlencode({**chosen, 'after': found.page.after})}" if found.page.after else None
    if wants_json(request):
        selected = {"order": None if stars else order.value, "stars": count_stars(stars)}
        response = json_response(_build_json(found, selected, next_address))
    else:
        shown = {
            "book": book,
            "reviews": found,
            "order": order,
            "orders": _list_orders(get_viewer_id(request)),
            "stars": stars,
            "is_first": after is None,
            "next_address": next_address,
        }
        response = render(request, "social/reviews/book.html", shown)
    patch_vary_headers(response, ["Accept"])
    return response


def _build_json(found: BookReviews, selected: dict[str, Any], next_address: str | None) -> dict[str, Any]:
    return {
        "count": found.total,
        "own": found.own,
        **selected,
        "results": [post.json for post in found.page.posts],
        "next": next_address,
    }


def _list_orders(viewer: int | None) -> list[str]:
    return [order.value for order in Order if viewer is not None or order != Order.FOLLOWED]


def _parse_order(text: str | None) -> Order:
    """Return the order of that name; for an unknown one, that by helpfulness."""
    return Order(text) if text in set(Order) else Order.HELPFUL


def _parse_stars(text: str | None) -> int | None:
    """Return stars in halves, or None for all reviews."""
    try:
        halves: int | None = StarsField().clean(text or "")
    except ValidationError:
        return None
    return halves


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def write(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: show the form for one's review of a book. POST ``stars``, ``text``, ``note``, ``language``: save it."""
    book, user_id = get_book(pk), get_user_id(request)
    if book is None:
        raise Http404
    review = find_review(user_id, pk)
    shown: dict[str, Any] = {"book": book, "languages": LANGUAGES, "is_new": review is None}
    shown["is_hidden"] = review is not None and review.post.is_hidden
    if request.method != "POST":
        entry = find_entry(user_id, pk)
        shown.update(_fill_form(review), entry=entry)
        return render(request, "social/reviews/write.html", shown)
    if seconds := count_event("post-try", user_id, *settings.POST_TRIES) or count_at_rates(
        "review", user_id, settings.POST_RATES
    ):
        return _respond_too_often(request, seconds, {**shown, **_keep_input(request)})
    form = ReviewForm(request.POST)
    try:
        if not form.is_valid():
            raise ValidationError(form.errors.as_data())
        made = write_review(user_id, pk, form.get_draft(), timezone.localdate(clock.now()))
    except BookNotFound as error:
        raise Http404 from error
    except ValidationError as error:
        return _respond_refused(request, error, {**shown, **_keep_input(request)})
    if wants_json(request):
        return json_response({"id": made.pk}, 201 if review is None else 200)
    if shown["is_hidden"]:
        messages.success(request, _("Saved."))
        return redirect_to_view("reviews:write", pk)
    return redirect_to_view("social:post", made.pk)


def _fill_form(review: Review | None) -> dict[str, str]:
    if review is None:
        return {"text": "", "note": "", "language": get_language() or ""}
    return {"text": review.text, "note": review.post.note, "language": review.language}


def _keep_input(request: HttpRequest) -> dict[str, Any]:
    """Return what the reader typed, for the form beside an error."""
    typed: dict[str, Any] = {name: request.POST.get(name, "") for name in ("text", "note", "language")}
    return {**typed, "entry": {"stars": _parse_stars(request.POST.get("stars"))}}


def _respond_too_often(request: HttpRequest, seconds: int, shown: dict[str, Any]) -> HttpResponse:
    """Return the form with the typed text, and the time until the next attempt."""
    message = _("That was too often. Try again in %(wait)s.") % {"wait": describe_wait(seconds)}
    if wants_json(request):
        response = json_error(message, 429)
    else:
        response = render(request, "social/reviews/write.html", {**shown, "error": message}, status=429)
    response.headers["Retry-After"] = str(seconds)
    return response


def _respond_refused(request: HttpRequest, error: ValidationError, shown: dict[str, Any]) -> HttpResponse:
    field, (message, *_others) = next(iter(error.message_dict.items()))
    if wants_json(request):
        return json_response({"error": {"field": field, "message": message}}, 400)
    return render(request, "social/reviews/write.html", {**shown, "error": message, "error_field": field}, status=400)
