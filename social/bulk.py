"""Many posts and follows at once, in few statements: for importers. What is there already is left alone.

They are committed in slices: on SQLite nobody waits for one long transaction, and the relay gets in between.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection, transaction

from config.bulk import slices
from social.mentioning import mentioned_in
from social.services.posts import HASHTAGS
from social.tokens import hashtags_in


class NewPost(NamedTuple):
    """A post to be. key: which of its author's posts it is, so that it is posted once."""

    user_id: int
    key: str
    text: str
    created_at: datetime
    book_id: int | None = None


class NewFollow(NamedTuple):
    """A follow to be."""

    follower_id: int
    followee_id: int
    created_at: datetime


Told = Callable[[int], object]


def _nobody(rows: int) -> None:
    """Is told how many rows were looked at."""


# "WHERE true", or SQLite takes "ON" for the condition of a join.
_POSTS: Final = """
    INSERT INTO social_post (user_id, key, text, created_at, book_id, is_hidden, is_pulled)
    SELECT v.a, v.b, v.c, v.d, v.e, FALSE,
           EXISTS (SELECT 1 FROM social_pulled f WHERE f.user_id = v.a AND f.state = 'on')
      FROM {rows} WHERE true
    ON CONFLICT (user_id, key) DO NOTHING
"""
_FOLLOWS: Final = """
    INSERT INTO social_follow (follower_id, followee_id, created_at)
    SELECT v.a, v.b, v.c FROM {rows} WHERE true
    ON CONFLICT (follower_id, followee_id) DO NOTHING
"""


_WRITTEN: Final = """
    SELECT p.id, p.user_id, p.text FROM {rows} JOIN social_post p ON p.user_id = v.a AND p.key = v.b ORDER BY p.id
"""
_MENTIONS: Final = """
    INSERT INTO social_mention (post_id, user_id, name) SELECT v.a, v.b, v.c FROM {rows} WHERE true
    ON CONFLICT (user_id, post_id) DO NOTHING
"""
_HASHTAGS: Final = """
    INSERT INTO social_hashtag (post_id, name) SELECT v.a, v.b FROM {rows} WHERE true
    ON CONFLICT (name, post_id) DO NOTHING
"""


def posts(rows: Iterable[NewPost], *, marked: bool = False, told: Told = _nobody) -> int:
    """Post these, in their order (ids follow it). Returns how many were new.

    Texts are taken as they are. marked: they are looked through for mentions (a query for each text that may have
    some) and hashtags. ``told`` is called with the number of rows after each slice. Raises IntegrityError for an author
    or a book that is not.
    """
    new = 0
    for some in slices(rows):
        with transaction.atomic():
            new += _put(_POSTS, ("bigint", "text", "text", "timestamptz", "bigint"), some)
            if marked:
                _mark(some)
        told(len(some))
    return new


def follows(rows: Iterable[NewFollow], *, told: Told = _nobody) -> int:
    """Have these people follow those, in this order. Returns how many follows were new.

    ``told`` is called with the number of rows after each slice. Raises IntegrityError for who is not, or for somebody
    who is to follow themselves.
    """
    new = 0
    for some in slices(rows):
        with transaction.atomic():
            new += _put(_FOLLOWS, ("bigint", "bigint", "timestamptz"), some)
        told(len(some))
    return new


def _mark(rows: Sequence[NewPost]) -> None:
    """See to the mentions and hashtags of these posts."""
    with connection.cursor() as cursor:
        types = ("bigint", "text")
        cursor.execute(_WRITTEN.format(rows=_source(types)), _given([(row.user_id, row.key) for row in rows]))
        written = cursor.fetchall()
    mentions = [(pk, *found) for pk, author, text in written for found in mentioned_in(text, author)]
    _put(_MENTIONS, ("bigint", "bigint", "text"), mentions)
    hashtags = [(pk, name) for pk, _, text in written for name in hashtags_in(text)[:HASHTAGS]]
    _put(_HASHTAGS, ("bigint", "text"), hashtags)


def _put(sql: str, types: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> int:
    """Write these rows, in one statement. Returns how many were new."""
    if not rows:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(sql.format(rows=_source(types)), _given(rows))
        return max(0, int(cursor.rowcount))


def _source(types: Sequence[str]) -> str:
    """SQL for a table ``v`` of the rows given, in their order, with the columns a, b, c ..."""
    names = "abcdefgh"[: len(types)]
    if connection.vendor == "postgresql":
        return f"unnest({', '.join(f'%s::{kind}[]' for kind in types)}) AS v({', '.join(names)})"
    columns = (f"json_extract(value, '$[{number}]') AS {name}" for number, name in enumerate(names))
    return f"(SELECT {', '.join(columns)} FROM json_each(%s)) v"


def _given(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The parameters for ``_source``."""
    adapt = connection.ops.adapt_datetimefield_value
    adapted = [[adapt(value) if isinstance(value, datetime) else value for value in row] for row in rows]
    return [json.dumps(adapted)] if connection.vendor == "sqlite" else [list(c) for c in zip(*adapted, strict=True)]
