"""Creating and deleting posts, in HTML and (``Accept: application/json``) in JSON."""

from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates, count_event, give_back
from accounts.views import describe_wait
from catalog.search.selectors import search
from common.web import (
    get_next_address,
    get_user_id,
    get_viewer_id,
    is_partial,
    json_response,
    personal_page,
    redirect_to,
    redirect_to_view,
    require_login,
    wants_json,
)
from mirror.middleware import done_before
from mirror.read import read_from_sql
from social.models import Post
from social.queries.records import PostRecord
from social.selectors import get_post
from social.services.posts import create_post, delete_post, get_post_by_key
from social.timelines.pages import read_posts
from social.views.draft import Draft, is_json_body

HOME: Final = "social:home"
MAX_FOUND_BOOKS: Final = 6  # to choose from for a post


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def posts(request: HttpRequest) -> HttpResponse:
    """POST ``text`` (``note``, ``book``, ``parent``, ``key``, ``next``), as a form or a JSON object.

    A form may have words to find a book by (``book_search``, the button ``find``). GET redirects to the home timeline.
    """
    if request.method != "POST":
        return redirect_to_view(HOME)
    if not request.user.is_authenticated:
        return require_login(request, reverse(HOME))
    draft = Draft.read(request)
    # Before the form is shown again, which must stay that of a reply.
    draft.find_parent(request.user.pk)
    if draft.is_search or draft.lacks_choice:
        # Also without the button: the author has forgotten to choose, or pressed Enter in the search field.
        return _render_form_again(request, draft, "" if draft.is_search else _choose_book_text(), 200)
    try:
        draft.check()
        draft.check_parent()
        made = draft.key and get_post_by_key(request.user.pk, draft.key)
        if made:
            done_before(request)
        elif seconds := _seconds_to_wait(request.user.pk):
            return _respond_too_often(request, draft, seconds)
        else:
            made = _create_post(request.user.pk, draft)
    except ValidationError as error:
        return _respond_refused(request, draft, error)
    return _respond_created(request, draft, made)


@require_safe
@personal_page
def find_books(request: HttpRequest) -> HttpResponse:
    """Return the books to choose from for a post (``?book_search=``), as a part of its form."""
    words = request.GET.get("book_search", "")
    shown: dict[str, Any] = {}
    if words.strip():
        shown = {"books": search(words, get_user_id(request), MAX_FOUND_BOOKS).books, "book_search": words}
    return render(request, "social/_book_choices.html", shown)


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: ask for confirmation. POST: delete the post."""
    if request.method == "POST":
        if not delete_post(pk, by=get_user_id(request)):
            if Post.objects.filter(pk=pk).exists():
                raise Http404
            # The first of two clicks has deleted it.
            done_before(request)
        if wants_json(request):
            return json_response({"id": pk, "is_deleted": True})
        messages.success(request, _("Your post was deleted."))
        return redirect_to(get_next_address(request, reverse(HOME)))
    found = _post_or_404(request, pk)
    if found["user"]["id"] != request.user.pk:
        raise Http404
    return render(request, "social/delete.html", {"post": found})


def _post_or_404(request: HttpRequest, pk: int) -> PostRecord:
    found = get_post(pk, get_viewer_id(request))
    if found is None:
        raise Http404
    return found


def _seconds_to_wait(user_id: int) -> int:
    """Count an attempt and a post. Return the seconds until the next post is allowed; 0 if this one is allowed."""
    wait = count_event("post-try", user_id, *settings.POST_TRIES)
    return wait or count_at_rates("post", user_id, settings.POST_RATES)


def _create_post(user_id: int, draft: Draft) -> Post:
    """Create the post. A refused text counts as an attempt, because cleaning it takes time, but not as a post."""
    try:
        return create_post(
            user_id, draft.text, note=draft.note or "", book_id=draft.book_id, parent_id=draft.parent_id, key=draft.key
        )
    except ValidationError:
        for _most, seconds in settings.POST_RATES:
            give_back(f"post-{seconds}", user_id)
        raise


def _respond_created(request: HttpRequest, draft: Draft, made: Post) -> HttpResponse:
    """Answer with the new post. htmx gets it for the top of the list, with an empty form."""
    if _uses_json(request):
        response = json_response(_read_record(made).json, 201)
        response.headers["Location"] = reverse("social:post", args=[made.pk])
        return response
    if is_partial(request):
        shown = {
            "post": _read_record(made),
            "is_posted": True,
            # A book that was chosen for this post is not the one of the page.
            "book": draft.book if draft.book_search is None else None,
            "next_address": get_next_address(request, reverse(HOME)),
        }
        return render(request, "social/_posted.html", shown)
    messages.success(request, _("Your post was published."))
    if draft.parent is not None:
        # Not to the thread, in which the reply may be on a later page.
        return redirect_to_view("social:post", made.pk)
    return redirect_to(get_next_address(request, reverse(HOME)))


def _read_record(made: Post) -> PostRecord:
    """Return the record from SQL, since Redis may not have it yet. 404 if the post is already hidden."""
    with read_from_sql():
        found = read_posts([made.pk], made.user_id)
    if not found:
        raise Http404
    return found[0]


def _respond_refused(request: HttpRequest, draft: Draft, error: ValidationError) -> HttpResponse:
    field, (message, *_others) = next(iter(error.message_dict.items()))
    if _uses_json(request):
        return json_response({"error": {"field": field, "message": message}}, 400)
    return _render_form_again(request, draft, message, 400)


def _respond_too_often(request: HttpRequest, draft: Draft, seconds: int) -> HttpResponse:
    message = _("Too many posts. You can post again in %(wait)s.") % {"wait": describe_wait(seconds)}
    refused = {"error": {"message": message}}
    response = json_response(refused, 429) if _uses_json(request) else _render_form_again(request, draft, message, 429)
    response.headers["Retry-After"] = str(seconds)
    return response


def _choose_book_text() -> str:
    return _("Choose one of these books, or “No book”.")


def _render_form_again(request: HttpRequest, draft: Draft, error: str, status: int) -> HttpResponse:
    """Render the form again with the input, the error, and the books that the author looks for."""
    shown: dict[str, Any] = {
        "text": draft.text,
        "note": draft.note,
        "error": error,
        "book": draft.book,
        "parent": draft.parent,
        # Also of a post that is gone: without it, the next attempt would publish the reply as a post of its own.
        "parent_id": draft.parent_given if draft.is_reply else None,
        "next_address": get_next_address(request, reverse(HOME)),
    }
    if draft.book_search is not None:
        shown |= {"book": None, "chosen": draft.book_id, "book_search": draft.book_search}
        if draft.book_search:
            shown["books"] = search(draft.book_search, get_user_id(request), MAX_FOUND_BOOKS).books
    template = "social/_composer.html" if is_partial(request) else "social/write.html"
    return render(request, template, shown, status=status)


def _uses_json(request: HttpRequest) -> bool:
    return wants_json(request) or is_json_body(request)
