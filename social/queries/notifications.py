"""The facts that readers are notified of: mentions, replies, likes and follows.

Facts of a reader's own, and of inactive readers are left out, and those of private accounts that have not approved the
reader. Those of blocked and muted readers are silenced. Of each group the newest ``MAX_FACTS`` are read; of likes those
by the readers with the lowest ids, because their index has no order of time.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connections
from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.notifications.tables import MAX_FACTS, Fact, parse_time
from common.database import pairs
from common.ids import parse_ids
from mirror.conf import setting
from mirror.utils import arrays
from social.models import Follow, FollowRequest, Like, Mention, Post

FindKeys = Callable[[Sequence[str], str | None, int], list[str]]


def is_heard(actor: str, reader: str) -> str:
    """Return the condition that a reader is notified of what another one does, unless it is silenced."""
    # The names of the tables must not be those of a query around this condition.
    return f"""{actor} <> {reader}
        AND EXISTS (SELECT 1 FROM accounts_user account WHERE account.id = {actor} AND account.is_active)"""


def is_silenced(actor: str, reader: str) -> str:
    """Return the condition that a reader has muted another one, or that one of them has blocked the other."""
    return f"""(EXISTS (SELECT 1 FROM social_mute mute WHERE mute.user_id = {reader} AND mute.muted_id = {actor})
        OR EXISTS (SELECT 1 FROM social_block own WHERE own.blocker_id = {reader} AND own.blocked_id = {actor})
        OR EXISTS (SELECT 1 FROM social_block foe WHERE foe.blocker_id = {actor} AND foe.blocked_id = {reader}))"""


def is_seen(actor: str, reader: str) -> str:
    """Return the condition that a reader is notified of what another one writes or likes."""
    return f"""{is_heard(actor, reader)}
        AND (EXISTS (SELECT 1 FROM accounts_user open WHERE open.id = {actor} AND NOT open.is_private)
             OR EXISTS (
                SELECT 1 FROM social_follow approved
                 WHERE approved.follower_id = {reader} AND approved.followee_id = {actor}))"""


_MENTIONS: Final = f"""
    SELECT m.user_id, p.user_id, p.created_at, p.id, {is_silenced("p.user_id", "m.user_id")}
      FROM k
      JOIN social_mention m ON m.user_id = k.a AND m.post_id = k.b
      JOIN social_post p ON p.id = m.post_id AND NOT p.is_hidden
     WHERE (p.parent_author_id IS NULL OR p.parent_author_id <> m.user_id)
       AND {is_seen("p.user_id", "m.user_id")}
"""
_REPLIES: Final = f"""
    FROM social_post p
   WHERE p.parent_id = k.value AND NOT p.is_hidden AND p.parent_author_id IS NOT NULL
     AND {is_seen("p.user_id", "p.parent_author_id")}
   ORDER BY p.id DESC LIMIT {MAX_FACTS}
"""
_LIKES: Final = f"""
    FROM social_like p
   WHERE p.post_id = k.value AND {is_seen("p.user_id", "o.user_id")}
   ORDER BY p.user_id LIMIT {MAX_FACTS}
"""
_FOLLOWS: Final = f"""
    FROM social_follow p
   WHERE p.followee_id = k.value AND {is_heard("p.follower_id", "p.followee_id")}
   ORDER BY p.id DESC LIMIT {MAX_FACTS}
"""
_REQUESTS: Final = f"""
    FROM social_followrequest p
   WHERE p.followee_id = k.value AND {is_heard("p.follower_id", "p.followee_id")}
   ORDER BY p.id DESC LIMIT {MAX_FACTS}
"""
_LIKED_RATINGS: Final = """
    SELECT DISTINCT l.post_id
      FROM k
      JOIN reviews_review r ON r.user_id = k.a AND r.book_id = k.b
      JOIN social_like l ON l.post_id = r.post_id
     WHERE r.text = ''
"""


def find_mentions(pks: Sequence[str]) -> list[Fact]:
    """Return the mentions with these keys ("user:post"). A mention in a reply to its reader is a reply only."""
    rows = pairs.query_pairs(_MENTIONS, pairs.parse_pairs(pks))
    return [Fact(f"{row[0]}:{row[3]}", *_parse_fact(row)) for row in rows]


def find_replies(pks: Sequence[str]) -> list[Fact]:
    """Return the replies to these posts. The target is the reply, which its page shows below the posts above it."""
    found = arrays.join_found("social_post", _REPLIES, "f")
    return _query(pks, ("f.parent_author_id", "f.user_id", "f.id"), found)


def find_likes(pks: Sequence[str]) -> list[Fact]:
    """Return the likes of these posts."""
    found = arrays.join_found("social_like", _LIKES, "f")
    posts = "JOIN social_post o ON o.id = k.value AND NOT o.is_hidden"
    return _query(pks, ("o.user_id", "f.user_id", "o.id"), f"{posts} {found}")


def find_follows(pks: Sequence[str]) -> list[Fact]:
    """Return the follows of these readers."""
    found = arrays.join_found("social_follow", _FOLLOWS, "f")
    return _query(pks, ("f.followee_id", "f.follower_id", "0"), found)


def find_requests(pks: Sequence[str]) -> list[Fact]:
    """Return the requests to follow these readers."""
    found = arrays.join_found("social_followrequest", _REQUESTS, "f")
    return _query(pks, ("f.followee_id", "f.follower_id", "0"), found)


def _query(pks: Sequence[str], columns: tuple[str, str, str], joins: str) -> list[Fact]:
    """Return the facts that ``joins`` finds as ``f`` for each key (``k.value``). columns: user, actor and target."""
    source, values = arrays.list_values(parse_ids(pks), "bigint")
    user, actor, target = columns
    found = f"{user}, {actor}, f.created_at, {target}, {is_silenced(actor, user)}"
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(f"SELECT k.value, {found} FROM {source} {joins}", values)
        rows = cursor.fetchall()
    return [Fact(str(key), *_parse_fact(row)) for key, *row in rows]


def _parse_fact(row: Sequence[Any]) -> tuple[int, int, datetime, int, bool]:
    user, actor, at, target, silenced = row
    return user, actor, parse_time(at), target, bool(silenced)


# --- the keys that depend on a changed row ---------------------------------------------------------


def _rows(model: Any) -> QuerySet[Any]:
    return model._base_manager.using(setting("DATABASE"))


def _list_next(rows: QuerySet[Any], column: str, after: str | None, limit: int) -> list[str]:
    """Return the next values of a column, each once."""
    if after is not None:
        rows = rows.filter(**{f"{column}__gt": after})
    return [str(value) for value in rows.order_by(column).values_list(column, flat=True).distinct()[:limit]]


def find_liked_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts that these users like."""
    return _list_next(_rows(Like).filter(user_id__in=parse_ids(values)), "post_id", after, limit)


def find_liked_ratings_of(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of ratings with likes by these users."""
    likes = _rows(Like).filter(post__kind=Post.Kind.RATING, post__user_id__in=parse_ids(values))
    return _list_next(likes, "post_id", after, limit)


def find_liked_ratings_on(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of ratings with likes of these users and books ("5:7")."""
    beyond = f"AND l.post_id > {int(after)}" if after is not None else ""
    rows = pairs.query_pairs(f"{_LIKED_RATINGS} {beyond} ORDER BY 1 LIMIT {int(limit)}", pairs.parse_pairs(values))
    return [str(post) for (post,) in rows]


def find_replied_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts that these users replied to."""
    replies = _rows(Post).filter(user_id__in=parse_ids(values), parent_id__isnull=False)
    return _list_next(replies, "parent_id", after, limit)


def find_followed_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of users that these users follow."""
    return _list_next(_rows(Follow).filter(follower_id__in=parse_ids(values)), "followee_id", after, limit)


def _list_next_mentions(rows: QuerySet[Mention], after: str | None, limit: int) -> list[str]:
    return pairs.list_next(rows, "user_id", "post_id", after, limit)


def find_mentions_after(after: str | None, limit: int) -> list[str]:
    """Return the next keys of mentions."""
    return _list_next_mentions(_rows(Mention), after, limit)


def find_mentions_in(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of mentions in these posts."""
    return _list_next_mentions(_rows(Mention).filter(post_id__in=parse_ids(values)), after, limit)


def find_mentions_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of mentions by these users."""
    return _list_next_mentions(_rows(Mention).filter(post__user_id__in=parse_ids(values)), after, limit)


def _match_pairs(values: Sequence[str], actor: str, reader: str) -> Q:
    """Return the condition that one of two users acts and the other one is notified, for one of these pairs."""
    condition = Q(pk__in=[])
    for one, other in pairs.parse_pairs(values):
        condition |= Q(**{actor: one, reader: other}) | Q(**{actor: other, reader: one})
    return condition


def for_private_accounts(find_keys: FindKeys) -> FindKeys:
    """Return a function like ``find_keys`` that takes follows ("5:7") and skips those of accounts that are public."""

    def find_keys_of_private(values: Sequence[str], after: str | None, limit: int) -> list[str]:
        follows = pairs.parse_pairs(values)
        accounts = _rows(User).filter(pk__in={followee for _, followee in follows}, is_private=True)
        private = set(accounts.values_list("pk", flat=True))
        shown = [f"{follower}:{followee}" for follower, followee in follows if followee in private]
        return find_keys(shown, after, limit) if shown else []

    return find_keys_of_private


def find_mentions_between(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of mentions of one of two users by the other one ("5:7")."""
    return _list_next_mentions(_rows(Mention).filter(_match_pairs(values, "post__user_id", "user_id")), after, limit)


def find_replies_between(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts of one of two users that the other one replied to."""
    replies = _rows(Post).filter(_match_pairs(values, "user_id", "parent_author_id"), parent_id__isnull=False)
    return _list_next(replies, "parent_id", after, limit)


def find_likes_between(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts of one of two users that the other one likes."""
    return _list_next(_rows(Like).filter(_match_pairs(values, "user_id", "post__user_id")), "post_id", after, limit)


def list_replied_posts(after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts with replies."""
    return _list_next(_rows(Post).filter(parent_id__isnull=False), "parent_id", after, limit)


def list_followed_users(after: str | None, limit: int) -> list[str]:
    """Return the next ids of users with followers."""
    return _list_next(_rows(Follow), "followee_id", after, limit)


def find_requested_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of users that these users want to follow."""
    return _list_next(_rows(FollowRequest).filter(follower_id__in=parse_ids(values)), "followee_id", after, limit)


def list_requested_users(after: str | None, limit: int) -> list[str]:
    """Return the next ids of users with follow requests."""
    return _list_next(_rows(FollowRequest), "followee_id", after, limit)


def list_liked_posts(after: str | None, limit: int) -> list[str]:
    """Return the next ids of posts with likes."""
    return _list_next(_rows(Like), "post_id", after, limit)
