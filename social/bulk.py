"""Bulk creation of posts and follows in few statements, for importers. Existing rows stay as they are.

Each slice is committed by itself. So on SQLite other writers need not wait for one long transaction, and the relay
can run between two slices.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection, transaction

from common.database import split_slices
from mirror.utils import CountCallback, arrays, ignore
from social.content.mentions import find_mentions
from social.content.tokens import find_hashtags
from social.services.posts import MAX_HASHTAGS


class NewPost(NamedTuple):
    """A post to create. ``key`` is unique per author, so that a repeated import creates the post only once."""

    user_id: int
    key: str
    text: str
    created_at: datetime
    book_id: int | None = None


class NewFollow(NamedTuple):
    """A follow to create."""

    follower_id: int
    followee_id: int
    created_at: datetime


# Without "WHERE true" SQLite parses "ON CONFLICT" as the condition of a join.
_INSERT_POSTS: Final = """
    INSERT INTO social_post (user_id, key, text, created_at, book_id, is_hidden, is_pulled)
    SELECT v.a, v.b, v.c, v.d, v.e, FALSE,
           EXISTS (SELECT 1 FROM social_pulled f WHERE f.user_id = v.a AND f.state = 'on')
      FROM {rows} WHERE true
    ON CONFLICT (user_id, key) DO NOTHING
"""
_INSERT_FOLLOWS: Final = """
    INSERT INTO social_follow (follower_id, followee_id, created_at)
    SELECT v.a, v.b, v.c FROM {rows} WHERE true
    ON CONFLICT (follower_id, followee_id) DO NOTHING
"""


_SELECT_WRITTEN_POSTS: Final = """
    SELECT p.id, p.user_id, p.text FROM {rows} JOIN social_post p ON p.user_id = v.a AND p.key = v.b ORDER BY p.id
"""
_INSERT_MENTIONS: Final = """
    INSERT INTO social_mention (post_id, user_id, name) SELECT v.a, v.b, v.c FROM {rows} WHERE true
    ON CONFLICT (user_id, post_id) DO NOTHING
"""
_INSERT_HASHTAGS: Final = """
    INSERT INTO social_hashtag (post_id, name) SELECT v.a, v.b FROM {rows} WHERE true
    ON CONFLICT (name, post_id) DO NOTHING
"""


def create_posts(rows: Iterable[NewPost], *, marked: bool = False, told: CountCallback = ignore) -> int:
    """Create these posts in their order, with ascending ids. Return the number of new posts.

    Texts are stored unchanged. With ``marked``, mentions and hashtags are read from the texts; each text that may
    contain a mention costs one query. ``told`` is called after each slice with the number of its rows. Raises
    IntegrityError if an author or a book does not exist.
    """
    new = 0
    for some in split_slices(rows):
        # Posts with their mentions and hashtags: a killed import never leaves a post without them.
        with transaction.atomic():
            new += _insert_rows(_INSERT_POSTS, ("bigint", "text", "text", "timestamptz", "bigint"), some)
            if marked:
                _save_mentions_and_hashtags(some)
        told(len(some))
    return new


def create_follows(rows: Iterable[NewFollow], *, told: CountCallback = ignore) -> int:
    """Create these follows in their order. Return the number of new follows.

    ``told`` is called after each slice with the number of its rows. Raises IntegrityError if a user does not exist, or
    if follower and followee are the same user.
    """
    new = 0
    for some in split_slices(rows):
        with transaction.atomic():
            new += _insert_rows(_INSERT_FOLLOWS, ("bigint", "bigint", "timestamptz"), some)
        told(len(some))
    return new


def _save_mentions_and_hashtags(rows: Sequence[NewPost]) -> None:
    """Save the mentions and hashtags of these posts."""
    with connection.cursor() as cursor:
        # The insert returns no ids, so the posts are read back by their keys.
        source, values = _make_table(("bigint", "text"), [(row.user_id, row.key) for row in rows])
        cursor.execute(_SELECT_WRITTEN_POSTS.format(rows=source), values)
        written = cursor.fetchall()
    mentions = [(pk, *found) for pk, author, text in written for found in find_mentions(text, author)]
    _insert_rows(_INSERT_MENTIONS, ("bigint", "bigint", "text"), mentions)
    hashtags = [(pk, name) for pk, _, text in written for name in find_hashtags(text)[:MAX_HASHTAGS]]
    _insert_rows(_INSERT_HASHTAGS, ("bigint", "text"), hashtags)


def _insert_rows(sql: str, types: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert these rows in one statement. Return the number of new rows."""
    if not rows:
        return 0
    with connection.cursor() as cursor:
        source, values = _make_table(types, rows)
        cursor.execute(sql.format(rows=source), values)
        return max(0, int(cursor.rowcount))


def _make_table(types: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> arrays.Source:
    """Return a table ``v`` of these rows, in their order, with the columns a, b, c ..."""
    return arrays.make_table(dict(zip("abcde", types, strict=False)), rows, "v")
