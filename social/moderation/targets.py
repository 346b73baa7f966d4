"""What may be reported: posts, readers, hashtags, tags and lists of books, as a visitor sees them."""

from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Q
from django.utils.translation import gettext as _

from catalog.lists.selectors import get_list
from catalog.models import Tag
from catalog.names import normalise
from catalog.query import Tag as QueryTag
from catalog.query import format_query
from common.ids import parse_id
from common.paths import make_path
from mirror.conf import setting
from social.content.tokens import fold_hashtag
from social.mirrors.profiles import ProfileMirror
from social.models import Post
from social.moderation.models import Kind
from social.relations.audience import find_visible_levels
from social.relations.profiles import get_profile
from social.reviews.models import Review
from social.selectors import get_post, get_posts_tagged


class Target(NamedTuple):
    """Something that may be reported. key: its id or name. text: the copy that a report keeps. author: a user's id."""

    kind: Kind
    key: str
    title: str
    text: str
    author: int | None
    url: str


def find_target(kind: str, key: str, viewer: int | None) -> Target | None:
    """Return a target that the viewer or a visitor without a login sees, or None.

    So a reader can report a blocker: to block the reporter must not prevent a report.
    """
    match kind:
        case Kind.POST:
            return _find_post(parse_id(key), viewer)
        case Kind.READER:
            return _find_reader(parse_id(key), viewer)
        case Kind.HASHTAG:
            return _find_hashtag(key)
        case Kind.TAG:
            return _find_tag(key)
        case Kind.LIST:
            return _find_list(parse_id(key), viewer)
    return None


def _find_post(pk: int | None, viewer: int | None) -> Target | None:
    if pk is None or not (get_post(pk, viewer) or get_post(pk, None)):
        return None
    post = Post.objects.using(setting("DATABASE")).select_related("user").filter(pk=pk).first()
    return None if post is None else make_post_target(post)


def make_post_target(post: Post) -> Target:
    """Return a post as a target. Its text is complete: the post of a review has only the beginning."""
    review = Review.objects.using(setting("DATABASE")).filter(pk=post.pk).first()
    text = review.text if review is not None and review.text else post.text
    title = _("Post by %(name)s") % {"name": post.user.username}
    words = f"{post.note}\n{text}" if post.note else text
    return Target(Kind.POST, str(post.pk), title, words, post.user_id, make_path("social:post", post.pk))


def _find_reader(pk: int | None, viewer: int | None) -> Target | None:
    profile = get_profile(pk, viewer) if pk else None
    # Across a block, as visitors see the reader: the profile of a blocked one does not tell that it is private.
    if pk and (profile is None or profile.is_blocked):
        profile = get_profile(pk, None)
    if profile is None:
        return None
    record = None if profile.is_locked else ProfileMirror.get(profile.id)
    text = "\n".join([profile.name, record["bio"], *record["links"]]) if record else profile.name
    return Target(Kind.READER, str(profile.id), profile.name, text, profile.id, profile.url)


def _find_hashtag(written: str) -> Target | None:
    name = fold_hashtag(written)
    # A hashtag without visible posts would open a case about nothing.
    if name is None or not get_posts_tagged(name, None).posts:
        return None
    return Target(Kind.HASHTAG, name, f"#{name}", f"#{name}", None, make_path("social:hashtag", name))


def _find_list(pk: int | None, viewer: int | None) -> Target | None:
    found = get_list(pk) if pk else None
    if pk is None or found is None:
        return None
    # Also a list of a reader whom the viewer has blocked, or who blocks the viewer.
    for visitor in (viewer, None):
        person = get_profile(found["user"], visitor)
        if person and not person.is_blocked and found["privacy"] in find_visible_levels(person, [found["privacy"]]):
            text = f"{found['name']}\n{found['description']}".strip()
            return Target(Kind.LIST, str(pk), found["name"], text, found["user"], make_path("social:list", pk))
    return None


def _find_tag(written: str) -> Target | None:
    tags = Tag.objects.using(setting("DATABASE"))
    name = normalise(written)
    tag = tags.filter(Q(name=name) | Q(aliases__name=name), hidden=False).first()
    if tag is None:
        return None
    query = urlencode({"q": format_query(QueryTag(tag.name))})
    return Target(Kind.TAG, tag.name, tag.name, tag.name, None, f"{make_path('catalog:list')}?{query}")
