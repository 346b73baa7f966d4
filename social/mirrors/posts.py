"""The mirror of posts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model, Q

import mirror
from accounts.models import User
from catalog.models import Book
from common.ids import parse_ids
from mirror import Contribution, Mirror, Ranking, Record, Scored, SqlMembers, Watch
from mirror.conf import database, setting
from social import keys
from social.models import Mention, Post
from social.queries.records import PostRecord, PostRow, build_record, load_posts


def _find_post_ids(condition: Q, after: str | None, limit: int) -> list[str]:
    found = Post._base_manager.using(setting("DATABASE")).filter(condition)
    if after is not None:
        found = found.filter(pk__gt=after)
    return [str(pk) for pk in found.order_by("pk").values_list("pk", flat=True)[:limit]]


def find_posts_by_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts by these users."""
    return _find_post_ids(Q(user_id__in=parse_ids(values)), after, limit)


def find_posts_about_books(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts about these books."""
    return _find_post_ids(Q(book_id__in=parse_ids(values)), after, limit)


def find_posts_of(values: Mapping[str, str]) -> SqlMembers:
    """Return the visible posts of a user, without ratings of deleted books, which nothing shows."""
    shown = Post.objects.using(database()).shown().exclude(kind=Post.Kind.RATING, book=None)
    return SqlMembers(shown.filter(user_id__in=parse_ids([values["author"]]), is_quiet=False), "pk", "id")


def find_replies_to(values: Mapping[str, str]) -> SqlMembers:
    """Return the visible direct replies to a post."""
    return SqlMembers(
        Post.objects.using(database()).shown().filter(parent_id__in=parse_ids([values["parent"]])), "pk", "id"
    )


@mirror.register
class PostMirror(Mirror[PostRecord]):
    """The records of posts, each author's posts and each post's replies, without hidden posts and inactive authors."""

    name = "post"
    version = 6  # without ratings of deleted books
    model = Post
    key = keys.post("{pk}")
    strict = True
    record_class = PostRecord
    indexes = (
        Ranking(keys.posts_of("{{author}}"), score="id", sql=find_posts_of),
        Ranking(keys.replies("{{parent}}"), score="id", sql=find_replies_to),
    )
    watches = (
        Watch(Post),
        Watch(Mention, "post_id"),
        Watch(User, via=find_posts_by_users, only=("username", "avatar", "is_active", "is_private"), inserts=False),
        Watch(Book, via=find_posts_about_books, only=("title", "cover", "design"), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, PostRow]:
        return load_posts(parse_ids(pks))

    def record(self, row: Any) -> Record:
        return build_record(row)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        is_empty = record["kind"] == Post.Kind.RATING and record["book"] is None
        if not (is_empty or record.get("is_quiet")):
            yield Scored(keys.posts_of(record["user"]["id"]), pk, record["id"])
        if record["reply_to"]:
            yield Scored(keys.replies(record["reply_to"]["id"]), pk, record["id"])

    def rows_behind(self, record: Record) -> Iterable[tuple[type[Model], Any]]:
        return ((User, record["user"]["id"]),)
