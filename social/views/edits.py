"""Editing an own post, and its former versions, in HTML and (``Accept: application/json``) in JSON."""

from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates
from accounts.views import describe_wait
from common.web import get_user_id, json_response, personal_page, redirect_to_view, wants_json
from mirror.conf import setting
from social.models import Post, PostVersion
from social.queries.records import PostRecord
from social.selectors import get_post
from social.services.posts import edit_post
from social.views.draft import Draft, is_json_body

MAX_VERSIONS: Final = 100  # newest former versions on the page


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: show the form. POST ``text`` (``note``), as a form or a JSON object: edit the post."""
    post = _post_or_404(request, pk)
    if post["user"]["id"] != request.user.pk or post["kind"] == Post.Kind.RATING:
        raise Http404
    if post["kind"] == Post.Kind.REVIEW:
        if post["book"] is None:
            raise Http404
        return redirect_to_view("reviews:write", post["book"]["id"])
    if request.method != "POST":
        return render(request, "social/edit.html", {"post": post, "text": post["text"], "note": post["note"]})
    draft, user_id = Draft.read(request), get_user_id(request)
    try:
        draft.check()
        if seconds := count_at_rates("edit", user_id, settings.POST_RATES):
            message = _("That was too often. Try again in %(wait)s.") % {"wait": describe_wait(seconds)}
            response = _respond_refused(request, post, draft, {"message": message}, 429)
            response.headers["Retry-After"] = str(seconds)
            return response
        edit_post(pk, draft.text, note=draft.note, by=user_id)
    except ValidationError as error:
        refusal = {"field": next(iter(error.message_dict)), "message": error.messages[0]}
        return _respond_refused(request, post, draft, refusal, 400)
    if wants_json(request) or is_json_body(request):
        return json_response(_post_or_404(request, pk).json)
    return redirect_to_view("social:post", pk)


def _respond_refused(
    request: HttpRequest, post: PostRecord, draft: Draft, refusal: dict[str, str], status: int
) -> HttpResponse:
    """Answer with the reason, and with the form that keeps what the author typed."""
    if wants_json(request) or is_json_body(request):
        return json_response({"error": refusal}, status)
    context = {"post": post, "text": draft.text, "note": draft.note, "error": refusal["message"]}
    return render(request, "social/edit.html", context, status=status)


@require_safe
def history(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a post and its former versions, newest first, to everyone who sees the post."""
    post = _post_or_404(request, pk)
    versions = PostVersion.objects.using(setting("DATABASE")).filter(post_id=pk).order_by("-pk")[:MAX_VERSIONS]
    if wants_json(request):
        lines = [{"text": version.text, "note": version.note, "time": version.written_at} for version in versions]
        response = json_response({"post": post.json, "versions": lines})
    else:
        response = render(request, "social/history.html", {"post": post, "versions": versions})
    patch_vary_headers(response, ["Accept"])
    return response


def _post_or_404(request: HttpRequest, pk: int) -> PostRecord:
    found = get_post(pk, request.user.pk)
    if found is None:
        raise Http404
    return found
