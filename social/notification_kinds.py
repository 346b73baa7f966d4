"""The kinds of notifications of this application, and what their pages show."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.utils.translation import gettext_lazy as _

from accounts.mirrors import users
from accounts.names import make_public_path
from accounts.notifications.kinds import Detail, Kind, register, register_hidden
from common.paths import make_path
from social.queries.records import PostRecord, quote_post
from social.relations.blocks import find_blocked_and_muted
from social.timelines.pages import read_records, read_shown_records

QUOTE_CHARACTERS: Final = 80


def register_kinds() -> None:
    """Register the kinds, and hide blocked and muted readers."""
    # Asked again when the page is shown: a block may be younger than the notification's last drain.
    register_hidden(find_blocked_and_muted)
    register(Kind("mention", _("Someone mentions you"), _("%(people)s mentioned you."), _find_posts))
    register(Kind("reply", _("Someone replies to your post"), _("%(people)s replied to your post."), _find_posts))
    register(Kind("like", _("Someone likes your post"), _("%(people)s liked your post."), _find_posts))
    register(
        Kind(
            "review",
            _("Someone you follow reviews a book on your shelves"),
            _("%(people)s reviewed %(title)s."),
            _find_reviews,
        )
    )
    register(Kind("follow", _("Someone follows you"), _("%(people)s followed you."), _find_followers))
    register(Kind("request", _("Someone wants to follow you"), _("%(people)s asked to follow you."), _find_requests))


def _find_posts(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the visible posts among ``ids``. The authors are those of the notification, or the viewer."""
    return {post["id"]: _describe(post) for post in read_shown_records(ids, viewer)}


def _find_reviews(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the visible reviews among these posts, with the titles of their books."""
    found = {}
    for post in read_records(ids, viewer):
        if post["book"]:
            found[post["id"]] = _describe(post)._replace(title=post["book"]["title"])
    return found


def _describe(post: PostRecord) -> Detail:
    return Detail(make_path("social:post", post["id"]), quote=quote_post(post, QUOTE_CHARACTERS))


def _find_requests(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the page of the viewer's follow requests."""
    return dict.fromkeys(ids, Detail(make_path("social:requests")))


def _find_followers(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the page of the viewer's followers."""
    user = users.UserMirror.get(viewer)
    path = make_public_path(user["name"]) if user else ""
    # Without a page of one's own, the reader sees followers nowhere.
    return dict.fromkeys(ids, Detail(f"{path}followers/" if path else make_path("social:people")))
