"""Views that add and remove a reader's tags, in HTML, as parts for htmx, or (``Accept: application/json``) in JSON."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.ratelimit import count_at_rates
from accounts.views import render_refusal, render_too_often
from catalog.models import Book
from catalog.selectors import get_book
from catalog.tags import votes
from catalog.tags.shown import list_tag_facts
from common.ids import MAX_ID
from common.web import is_partial, json_response, redirect_to, require_login, wants_json
from mirror.middleware import done_before
from mirror.read import read_from_sql

VoteFunction = Callable[[int, int, str], tuple[str, bool]]


@require_POST
@never_cache
def give_tag(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a book the tag of the POST parameter ``tag``. htmx gets the book's new tags."""
    address = reverse("catalog:book", args=[pk])
    if not request.user.is_authenticated:
        return require_login(request, address)
    if wait := count_at_rates("tag", request.user.pk, settings.TAG_RATES):
        return render_too_often(request, wait, address)
    return _apply_vote(request, request.user.pk, pk, votes.give_tag)


@require_POST
@never_cache
def take_tag(request: HttpRequest, pk: int) -> HttpResponse:
    """Take back the reader's vote for the POST parameter ``tag``. No rate limit applies."""
    if not request.user.is_authenticated:
        return require_login(request, reverse("catalog:book", args=[pk]))
    return _apply_vote(request, request.user.pk, pk, votes.take_tag)


def _apply_vote(request: HttpRequest, reader: int, pk: int, vote: VoteFunction) -> HttpResponse:
    text = request.POST.get("tag", "")
    if pk > MAX_ID:
        raise Http404
    try:
        name, is_changed = vote(reader, pk, text)
    except Book.DoesNotExist as error:
        raise Http404 from error
    except ValidationError as error:
        return _refuse_invalid_tag(request, pk, text, error.messages[0])
    # The first of two clicks has done it, so the second must not look like an error.
    if not is_changed:
        done_before(request)
    if wants_json(request):
        with read_from_sql():
            own = votes.find_own_tags(reader, pk)
        return json_response({"book": pk, "tag": name, "is_changed": is_changed, "own_tags": own})
    if is_partial(request):
        return _render_tags(request, pk)
    return redirect_to(f"{reverse('catalog:book', args=[pk])}#tags")


def _refuse_invalid_tag(request: HttpRequest, pk: int, text: str, why: str) -> HttpResponse:
    if is_partial(request):
        return _render_tags(request, pk, typed=text, error=why)
    return render_refusal(request, why, reverse("catalog:book", args=[pk]), 400)


def _render_tags(request: HttpRequest, pk: int, typed: str = "", error: str = "") -> HttpResponse:
    """Render the tags of a book from SQL, because Redis may be behind. Raises Http404 for a deleted book."""
    with read_from_sql():
        book = get_book(pk)
        if book is None:
            raise Http404
        shown = list_tag_facts(book, request.user.pk)
    context = {**shown, "typed": typed, "error": error, "is_part": True}
    return render(request, "catalog/_tags.html", context, status=400 if error else 200)
