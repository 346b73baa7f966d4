"""Views that add and remove a reader's tags, in HTML, as parts for htmx, or (``Accept: application/json``) in JSON."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.ratelimit import allow
from accounts.views.answers import must_log_in, refused, too_often
from catalog import votes
from catalog.models import Book
from catalog.selectors import LARGEST_ID, get_book
from catalog.tags_shown import tags_shown
from config.answers import is_partial, json, wants_json
from config.redirects import redirect_to
from mirror.middleware import done_before
from mirror.sql_only import sql_only

Vote = Callable[[int, int, str], tuple[str, bool]]


@require_POST
@never_cache
def give(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a book the tag of the POST parameter ``tag``. htmx gets the book's new tags."""
    address = reverse("catalog:book", args=[pk])
    if not request.user.is_authenticated:
        return must_log_in(request, address)
    waits = (allow(f"tag-{seconds}", request.user.pk, most, seconds) for most, seconds in settings.TAG_RATES)
    if wait := next(filter(None, waits), 0):
        return too_often(request, wait, address)
    return _vote(request, request.user.pk, pk, votes.give_tag)


@require_POST
@never_cache
def take(request: HttpRequest, pk: int) -> HttpResponse:
    """Take back the reader's vote for the POST parameter ``tag``. No rate limit applies."""
    if not request.user.is_authenticated:
        return must_log_in(request, reverse("catalog:book", args=[pk]))
    return _vote(request, request.user.pk, pk, votes.take_tag)


def _vote(request: HttpRequest, reader: int, pk: int, vote: Vote) -> HttpResponse:
    text = request.POST.get("tag", "")
    if pk > LARGEST_ID:
        raise Http404
    try:
        name, is_changed = vote(reader, pk, text)
    except Book.DoesNotExist as error:
        raise Http404 from error
    except ValidationError as error:
        return _invalid(request, pk, text, error.messages[0])
    if not is_changed:
        done_before(request)
    if wants_json(request):
        with sql_only():
            own = votes.own_tags(reader, pk)
        return json({"book": pk, "tag": name, "is_changed": is_changed, "own_tags": own})
    if is_partial(request):
        return _part(request, pk)
    return redirect_to(f"{reverse('catalog:book', args=[pk])}#tags")


def _invalid(request: HttpRequest, pk: int, text: str, why: str) -> HttpResponse:
    if is_partial(request):
        return _part(request, pk, typed=text, error=why)
    return refused(request, why, reverse("catalog:book", args=[pk]), 400)


def _part(request: HttpRequest, pk: int, typed: str = "", error: str = "") -> HttpResponse:
    """Render the tags of a book from SQL, because Redis may be behind. Raises Http404 for a deleted book."""
    with sql_only():
        book = get_book(pk)
        if book is None:
            raise Http404
        shown = tags_shown(book, request.user.pk)
    context = {**shown, "typed": typed, "error": error, "is_part": True}
    return render(request, "catalog/_tags.html", context, status=400 if error else 200)
