"""The facts of notifications of reviews: a followed reader reviews a book that is on the notified reader's shelves.

Imported reviews are none of them, because they were written elsewhere, and an import has hundreds.

The key of a notification is "reader:book".
"""

from collections.abc import Sequence
from typing import Final

from accounts.notifications.tables import Fact, parse_time
from common.database import pairs
from common.ids import parse_ids
from social.models import Post
from social.queries.notifications import is_heard, is_silenced

_REVIEWS: Final = f"""
    SELECT e.user_id, e.book_id, r.user_id, p.created_at, p.id, {is_silenced("r.user_id", "e.user_id")}
      FROM k
      JOIN catalog_shelfentry e ON e.user_id = k.a AND e.book_id = k.b
      JOIN reviews_review r ON r.book_id = e.book_id
      JOIN social_follow f ON f.follower_id = e.user_id AND f.followee_id = r.user_id
      JOIN social_post p ON p.id = r.post_id AND NOT p.is_hidden AND NOT p.is_quiet
       AND p.kind = '{Post.Kind.REVIEW.value}'
     WHERE {is_heard("r.user_id", "e.user_id")}
"""
# From authors and books: also of reviews that are deleted
_OF_REVIEWS: Final = """
      FROM k
      JOIN social_follow f ON f.followee_id = k.a
      JOIN catalog_shelfentry e ON e.user_id = f.follower_id AND e.book_id = k.b
"""
_OF_AUTHORS: Final = """
      FROM k
      JOIN reviews_review r ON r.user_id = k.a
      JOIN social_follow f ON f.followee_id = r.user_id
      JOIN catalog_shelfentry e ON e.user_id = f.follower_id AND e.book_id = r.book_id
"""
_OF_POSTS: Final = _OF_AUTHORS.replace("r.user_id = k.a", "r.post_id = k.a")
# From a reader and an author, whether or not the one follows the other
_BETWEEN: Final = """
      FROM k
      JOIN reviews_review r ON r.user_id = k.b
      JOIN catalog_shelfentry e ON e.user_id = k.a AND e.book_id = r.book_id
"""
_ALL: Final = """
      FROM reviews_review r
      JOIN social_follow f ON f.followee_id = r.user_id
      JOIN catalog_shelfentry e ON e.user_id = f.follower_id AND e.book_id = r.book_id
"""


def find_reviews(pks: Sequence[str]) -> list[Fact]:
    """Return the reviews with these keys."""
    rows = pairs.query_pairs(_REVIEWS, pairs.parse_pairs(pks))
    facts = []
    for user, book, actor, at, post, silenced in rows:
        facts.append(Fact(f"{user}:{book}", user, actor, parse_time(at), post, bool(silenced)))
    return facts


def _list_next(source: str, ends: Sequence[pairs.Pair], after: str | None, limit: int) -> list[str]:
    """Return the next keys that ``source`` finds for these pairs."""
    beyond = ""
    if after is not None:
        user, book = parse_ids(after.split(":"))
        beyond = f"WHERE (e.user_id, e.book_id) > ({user}, {book})"
    sql = f"SELECT DISTINCT e.user_id, e.book_id {source} {beyond} ORDER BY 1, 2 LIMIT {int(limit)}"
    return [f"{user}:{book}" for user, book in pairs.query_pairs(sql, ends)]


def _with_zero(values: Sequence[str]) -> list[pairs.Pair]:
    return [(pk, 0) for pk in parse_ids(values)]


def find_of_reviews(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys that reviews ("author:book") concern, also deleted ones."""
    return _list_next(_OF_REVIEWS, pairs.parse_pairs(values), after, limit)


def find_of_posts(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys that the reviews of these posts concern."""
    return _list_next(_OF_POSTS, _with_zero(values), after, limit)


def find_of_authors(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys that reviews by these users concern."""
    return _list_next(_OF_AUTHORS, _with_zero(values), after, limit)


def find_between(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of reviews of one of two users on the shelves of the other one ("5:7")."""
    found = pairs.parse_pairs(values)
    return _list_next(_BETWEEN, [*found, *((other, one) for one, other in found)], after, limit)


def list_all(after: str | None, limit: int) -> list[str]:
    """Return the next keys of all reviews."""
    return _list_next(_ALL, [(0, 0)], after, limit)
