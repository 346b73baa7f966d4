"""Windows of post ids: the newest posts of each home timeline, book, author, mentioned user and hashtag."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db.models import Model
from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from catalog.models import Book
from mirror import After, Family, Reached, Watch, WindowMirror
from social import keys
from social.mirrors.edges import split_key
from social.models import Hashtag, Mention, Post
from social.queries import timelines, windows
from social.queries.home import find_pushed_posts

TIMELINE_LENGTH = 400
ACTIVE_SECONDS = 7 * 24 * 3600


class _PostWindow(WindowMirror):
    """Common parts of the windows of posts."""

    model: ClassVar[type[Model]] = Post
    # Several windows of up to 1,000 posts change with each post, so the author does not wait for them.
    drain = "after_response"

    def families(self) -> Sequence[Family]:
        start, _, end = self.record_key("\0").partition("\0")
        return (Family(start, "zset", lambda key, member: key[len(start) : len(key) - len(end)], end=end),)


@mirror.register
class TimelineMirror(_PostWindow):
    """Home timelines: the posts of a reader and of followed authors. A window exists while its owner reads it."""

    name = "timeline"
    label = _("home timelines")
    model = User
    length = TIMELINE_LENGTH
    lazy = True
    life_seconds = ACTIVE_SECONDS
    watches = (
        Watch(Post, ("id", "user_id"), pushed=True, only=("is_hidden", "is_pulled")),
        # Edges cover the status of followed authors. Only this watch covers the owner's own status and deletion.
        Watch(User, only=("is_active",)),
    )
    after: ClassVar[Sequence[After]] = (
        # Chained to the edge: if the timeline came first, a late delivery would still find the author in the set, and
        # no later step would remove the post.
        After("follow", lambda edge: split_key(edge)[0]),
        After("shun", lambda edge: split_key(edge)[0]),
    )

    def record_key(self, pk: str) -> str:
        return keys.timeline(pk)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return find_pushed_posts(pks, limit)

    def reach(self, rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
        return windows.find_reached_timelines(rows, after, limit)

    def sources(self, owner: str) -> tuple[str, str]:
        return keys.following(owner), keys.shuns(owner)


@mirror.register
class GlobalMirror(_PostWindow):
    """The newest posts and reviews on the site, without those of private accounts, as in all lists for everybody."""

    name = "global"
    label = _("posts of everybody")
    length = 1000
    watches = (
        Watch(Post, whole=True, only=("is_hidden", "kind")),
        Watch(User, whole=True, only=("is_active", "is_private"), inserts=False),
    )

    def record_key(self, pk: str) -> str:
        return keys.global_timeline()

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {"": windows.find_newest_posts(limit)}

    def find_below(self, owner: str, below: int | None, limit: int) -> Sequence[int]:
        return timelines.find_posts(below, limit)

    def families(self) -> Sequence[Family]:
        return (Family(keys.global_timeline(), "zset", lambda key, member: "", whole=True),)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return [""] if after is None else []


@mirror.register
class BookPostsMirror(_PostWindow):
    """The newest posts about each book."""

    name = "book_posts"
    label = _("posts about books")
    length = 200
    watches = (
        Watch(Post, "book_id", only=("is_hidden", "kind")),
        Watch(User, via=windows.find_books_in_posts_by, only=("is_active", "is_private"), inserts=False),
    )

    def record_key(self, pk: str) -> str:
        return keys.book_posts(pk)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return windows.find_newest_about_books(pks, limit)

    def find_below(self, owner: str, below: int | None, limit: int) -> Sequence[int]:
        return timelines.find_posts_about(owner, below, limit)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return windows.find_books_after(after, limit)


@mirror.register
class AuthorPostsMirror(_PostWindow):
    """The newest posts about the books of each author, and reviews of them."""

    name = "author_posts"
    label = _("posts about authors")
    length = 200
    watches = (
        Watch(Book.authors.through, "author_id"),
        Watch(Post, "book_id", via=windows.find_authors_of_books, only=("is_hidden", "kind")),
        Watch(User, via=windows.find_authors_in_posts_by, only=("is_active", "is_private"), inserts=False),
    )

    def record_key(self, pk: str) -> str:
        return keys.author_posts(pk)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return windows.find_newest_about_authors(pks, limit)

    def find_below(self, owner: str, below: int | None, limit: int) -> Sequence[int]:
        return timelines.find_posts_about_books_by(owner, below, limit)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return windows.find_authors_after(after, limit)


@mirror.register
class MentionsMirror(_PostWindow):
    """The newest posts that mention each user."""

    name = "mentions"
    length = 200
    watches = (
        Watch(Mention, "user_id"),
        Watch(Post, via=windows.find_mentioned_in_posts, only=("is_hidden",), inserts=False),
        Watch(User, via=windows.find_mentioned_by, only=("is_active",), inserts=False),
    )

    def record_key(self, pk: str) -> str:
        return keys.mentions_of(pk)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return windows.find_newest_mentioning(pks, limit)

    def find_below(self, owner: str, below: int | None, limit: int) -> Sequence[int]:
        return timelines.find_posts_mentioning(owner, below, limit)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return windows.find_mentioned_after(after, limit)


@mirror.register
class HashtagMirror(_PostWindow):
    """The newest posts with each hashtag."""

    name = "hashtag"
    length = 1000
    watches = (
        Watch(Hashtag, "name"),
        Watch(Post, via=windows.find_hashtags_of_posts, only=("is_hidden",), inserts=False),
        Watch(User, via=windows.find_hashtags_used_by, only=("is_active", "is_private"), inserts=False),
    )

    def record_key(self, pk: str) -> str:
        return keys.hashtag(pk)

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return windows.find_newest_tagged(pks, limit)

    def find_below(self, owner: str, below: int | None, limit: int) -> Sequence[int]:
        return timelines.find_posts_tagged(owner, below, limit)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return windows.find_hashtags_after(after, limit)
