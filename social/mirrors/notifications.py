"""Mirrors that derive notifications of mentions, replies, likes and followers."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from accounts.notifications.tables import Fact, NotificationTable, watch_preferences
from mirror import Watch
from social.models import Block, Follow, Like, Mention, Mute, Post
from social.queries import notifications as queries

BLOCK = ("blocker_id", "blocked_id")
MUTE = ("user_id", "muted_id")


@mirror.register
class MentionNotifications(NotificationTable):
    """A notification for each mention, with the key "user:post"."""

    name = "notified_mention"
    label = _("notifications: mentions")
    kind = "mention"
    tables = "notifications_mention"
    model = Mention
    watches = (
        Watch(Mention, ("user_id", "post_id")),
        Watch(Post, via=queries.find_mentions_in, only=("is_hidden", "parent_author_id"), inserts=False),
        Watch(User, via=queries.find_mentions_by, only=("is_active",), inserts=False),
        Watch(Block, BLOCK, via=queries.find_mentions_between),
        Watch(Mute, MUTE, via=queries.find_mentions_between),
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
    watches = (
        Watch(Post, "parent_id", only=("is_hidden", "parent_author_id")),
        Watch(User, via=queries.find_replied_by, only=("is_active",), inserts=False),
        Watch(Block, BLOCK, via=queries.find_replies_between),
        Watch(Mute, MUTE, via=queries.find_replies_between),
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
    watches = (
        Watch(Like, "post_id"),
        Watch(Post, only=("is_hidden",), inserts=False),
        Watch(User, via=queries.find_liked_by, only=("is_active",), inserts=False),
        Watch(Block, BLOCK, via=queries.find_likes_between),
        Watch(Mute, MUTE, via=queries.find_likes_between),
        watch_preferences("like"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        return queries.find_likes(pks)

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
