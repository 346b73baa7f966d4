"""Mirrors that derive notifications of mentions, replies, likes, followers and follow requests."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from accounts.notifications.models import Way
from accounts.notifications.tables import Fact, Group, NotificationTable, watch_preferences
from catalog.shelves.mirrors import PRIVACY_COLUMNS
from catalog.shelves.models import ShelfEntry, ShelfSettings
from mirror import Watch
from mirror.conf import setting
from social.models import Block, Follow, FollowRequest, Like, Mention, Mute, Post
from social.queries import notifications as queries
from social.queries import review_notifications as reviews
from social.reviews.models import Review
from social.reviews.records import find_stars

BLOCK = ("blocker_id", "blocked_id")
MUTE = ("user_id", "muted_id")
FOLLOW = ("follower_id", "followee_id")


@mirror.register
class MentionNotifications(NotificationTable):
    """A notification for each mention, with the key "user:post"."""

    name = "notified_mention"
    label = _("notifications: mentions")
    kind = "mention"
    tables = "notifications_mention"
    model = Mention
    version = 3  # with facts that are silenced
    watches = (
        Watch(Mention, ("user_id", "post_id")),
        Watch(Post, via=queries.find_mentions_in, only=("is_hidden", "parent_author_id"), inserts=False),
        Watch(User, via=queries.find_mentions_by, only=("is_active", "is_private"), inserts=False),
        Watch(Block, BLOCK, via=queries.find_mentions_between),
        Watch(Mute, MUTE, via=queries.find_mentions_between),
        Watch(Follow, FOLLOW, via=queries.for_private_accounts(queries.find_mentions_between)),
        watch_preferences("mention"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return queries.find_mentions(pks)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return queries.find_mentions_after(after, limit)


@mirror.register
class ReplyNotifications(NotificationTable):
    """A notification for each post with replies, whose id is the key."""

    name = "notified_reply"
    label = _("notifications: replies")
    kind = "reply"
    tables = "notifications_reply"
    model = Post
    version = 3  # with facts that are silenced
    watches = (
        Watch(Post, "parent_id", only=("is_hidden", "parent_author_id")),
        Watch(User, via=queries.find_replied_by, only=("is_active", "is_private"), inserts=False),
        Watch(Block, BLOCK, via=queries.find_replies_between),
        Watch(Mute, MUTE, via=queries.find_replies_between),
        Watch(Follow, FOLLOW, via=queries.for_private_accounts(queries.find_replies_between)),
        watch_preferences("reply"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return queries.find_replies(pks)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return queries.list_replied_posts(after, limit)


@mirror.register
class LikeNotifications(NotificationTable):
    """A notification for each post with likes, whose id is the key."""

    name = "notified_like"
    label = _("notifications: likes")
    kind = "like"
    tables = "notifications_like"
    model = Post
    version = 4  # with facts that are silenced
    watches = (
        Watch(Like, "post_id"),
        Watch(Post, only=("is_hidden", "kind", "book_id"), inserts=False),
        Watch(ShelfEntry, ("user_id", "book_id"), via=queries.find_liked_ratings_on, only=("stars", "shelf")),
        Watch(ShelfSettings, via=queries.find_liked_ratings_of, only=PRIVACY_COLUMNS),
        Watch(User, via=queries.find_liked_by, only=("is_active", "is_private"), inserts=False),
        Watch(Block, BLOCK, via=queries.find_likes_between),
        Watch(Mute, MUTE, via=queries.find_likes_between),
        Watch(Follow, FOLLOW, via=queries.for_private_accounts(queries.find_likes_between)),
        watch_preferences("like"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return queries.find_likes(pks)

    def load(self, pks: Sequence[str]) -> Mapping[str, Group]:
        groups = super().load(pks)
        ratings = Post._base_manager.using(setting("DATABASE")).filter(pk__in=list(groups), kind=Post.Kind.RATING)
        hidden = set(ratings.values_list("pk", flat=True))
        hidden -= find_stars(hidden).keys() if hidden else set()
        # The row stays, and with it what the reader has read: likes of a shelf that is public again are not new.
        off = {str(pk): groups[str(pk)]._replace(way=Way.OFF) for pk in hidden}
        return {**groups, **off}

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return queries.list_liked_posts(after, limit)


@mirror.register
class FollowNotifications(NotificationTable):
    """A notification for each reader with followers, whose id is the key."""

    name = "notified_follow"
    label = _("notifications: followers")
    kind = "follow"
    tables = "notifications_follow"
    model = User
    version = 2  # with facts that are silenced
    watches = (
        Watch(Follow, "followee_id"),
        Watch(User, via=queries.find_followed_by, only=("is_active",), inserts=False),
        # A service removes the follows between the two, but an import may leave them.
        Watch(Block, "blocker_id"),
        Watch(Block, "blocked_id"),
        Watch(Mute, "user_id"),
        watch_preferences("follow"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return queries.find_follows(pks)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return queries.list_followed_users(after, limit)


@mirror.register
class RequestNotifications(NotificationTable):
    """A notification for each reader with follow requests, whose id is the key."""

    name = "notified_request"
    label = _("notifications: follow requests")
    kind = "request"
    tables = "notifications_request"
    model = User
    version = 2  # with facts that are silenced
    watches = (
        Watch(FollowRequest, "followee_id"),
        Watch(User, via=queries.find_requested_by, only=("is_active",), inserts=False),
        # A block removes the requests between the two.
        Watch(Mute, "user_id"),
        watch_preferences("request"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return queries.find_requests(pks)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return queries.list_requested_users(after, limit)


@mirror.register
class ReviewNotifications(NotificationTable):
    """A notification for each book on a reader's shelves that followed readers review, with the key "reader:book"."""

    name = "notified_review"
    label = _("notifications: reviews")
    kind = "review"
    tables = "notifications_review"
    model = Review
    version = 2  # without imported reviews, and with facts that are silenced
    watches = (
        Watch(ShelfEntry, ("user_id", "book_id"), only=("book_id",)),
        # By author and book, because a deleted review is not found by its id.
        Watch(Review, ("user_id", "book_id"), via=reviews.find_of_reviews, only=("book_id",)),
        Watch(Post, via=reviews.find_of_posts, only=("is_hidden", "kind"), inserts=False),
        Watch(Follow, FOLLOW, via=reviews.find_between),
        Watch(User, via=reviews.find_of_authors, only=("is_active",), inserts=False),
        Watch(Block, BLOCK, via=reviews.find_between),
        Watch(Mute, MUTE, via=reviews.find_between),
        watch_preferences("review"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return reviews.find_reviews(pks)

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return reviews.list_all(after, limit)
