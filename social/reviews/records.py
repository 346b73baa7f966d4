"""Reviews in SQL, in the form in which Redis has them.

Sorted sets need one number for each order: the first criterion is in the high bits, and the id of the post, which
makes newer reviews first, in the low ones. Redis stores numbers up to 2**53 exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import BigIntegerField, Exists, ExpressionWrapper, F, IntegerField, OuterRef, QuerySet, Subquery

from catalog.shelves.records import build_entry_key, find_public_entries, load_entries
from common.database import pairs
from mirror.conf import database
from social.models import Like
from social.reviews.models import Review

# Beyond it, more likes make a review no more helpful, so that the count has a bounded cost for each like.
MAX_COUNTED_LIKES: Final = 1_000
ID_BITS_BESIDE_LIKES: Final = 33
ID_BITS_BESIDE_STARS: Final = 48
_SELECT_REVIEWS: Final = """
    SELECT r.user_id, r.book_id, r.post_id, r.text <> '', p.is_hidden
      FROM k
      JOIN reviews_review r ON r.user_id = k.a AND r.book_id = k.b
      JOIN social_post p ON p.id = r.post_id
"""


class RankedReview(NamedTuple):
    """A visible review with a text. likes: at most ``MAX_COUNTED_LIKES``. is_private: by a private account."""

    id: int
    user: int
    book: int
    likes: int
    is_private: bool


class RatedPost(NamedTuple):
    """The post of a review or rating. stars: in halves, as far as everyone may see them.

    A rating without public stars is not shown (None). Reviews without them have no row, nor have ratings without them
    whose posts staff have hidden.
    """

    user: int
    book: int
    post: int
    is_review: bool
    stars: int | None


class _CountedRows(Subquery):
    """The number of rows of a query."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def score_likes(likes: Any, post_id: Any) -> Any:
    """Return the score of a review in the order of helpfulness, as a number or an expression."""
    return likes * 2**ID_BITS_BESIDE_LIKES + post_id


def score_stars(halves: Any, post_id: Any) -> Any:
    """Return the score of a review in the order of stars, as a number or an expression."""
    return halves * 2**ID_BITS_BESIDE_STARS + post_id


def find_id_in_score(score: float) -> int:
    """Return the id of the post in a score of ``score_stars``."""
    return int(score) % 2**ID_BITS_BESIDE_STARS


def select_reviews() -> QuerySet[Review]:
    """Return the visible reviews of books."""
    reviews = Review.objects.using(database()).filter(post__is_hidden=False, user__is_active=True)
    return reviews.exclude(text="").exclude(book=None)


def select_public_reviews() -> QuerySet[Review]:
    """Return the reviews of books that everybody sees: not by private accounts."""
    return select_reviews().filter(user__is_private=False)


def _add_likes(reviews: QuerySet[Review]) -> QuerySet[Any]:
    """Return reviews with ``likes``, their numbers of likes."""
    likes = (
        Like.objects.using(database())
        .counted()
        .filter(post_id=OuterRef("pk"))
        .order_by()
        .values("pk")[:MAX_COUNTED_LIKES]
    )
    return reviews.annotate(likes=_CountedRows(likes))


def select_helpful_reviews() -> QuerySet[Any]:
    """Return the public reviews with ``score``, their place in the order of helpfulness."""
    return _add_likes(select_public_reviews()).annotate(score=_as_number(score_likes(F("likes"), F("post_id"))))


def select_starred_reviews() -> QuerySet[Any]:
    """Return the shelves' entries with a review and public stars with ``score``, their place in the order of stars."""
    # Not from the reviews: SQL would look up the privacy of each shelf for every use of the score.
    reviews = Review.objects.filter(user_id=OuterRef("user_id"), book_id=OuterRef("book_id")).exclude(text="")
    rows = find_public_entries().exclude(stars=None).annotate(post=Subquery(reviews.values("pk")[:1]))
    return rows.exclude(post=None).annotate(score=_as_number(score_stars(F("stars"), F("post"))))


def select_hidden_ratings() -> QuerySet[Review]:
    """Return the ratings that staff have not hidden, and that are not shown, because their stars are not public."""
    starred = find_public_entries().filter(user_id=OuterRef("user_id"), book_id=OuterRef("book_id")).exclude(stars=None)
    ratings = Review.objects.using(database()).filter(~Exists(starred), text="", post__is_hidden=False)
    return ratings.exclude(book=None)


def _as_number(expression: Any) -> ExpressionWrapper:
    return ExpressionWrapper(expression, output_field=BigIntegerField())


def load_ranked_reviews(ids: Sequence[int]) -> Mapping[str, RankedReview]:
    """Return the visible reviews among these ids of posts, by id as a string, in one query."""
    columns = ("pk", "user_id", "book_id", "likes", "user__is_private")
    rows = _add_likes(select_reviews()).filter(pk__in=ids).values_list(*columns)
    return {str(row[0]): RankedReview._make(row) for row in rows}


def load_rated_posts(keys: Sequence[pairs.Pair]) -> Mapping[str, RatedPost]:
    """Return the posts with public stars, and hidden ratings, of these pairs of user and book, by mirror key.

    Two queries.
    """
    found: dict[str, RatedPost] = {}
    reviews = pairs.query_pairs(_SELECT_REVIEWS, keys)
    entries = load_entries([(user, book) for user, book, *_ in reviews])
    for user, book, post, is_review, is_hidden in reviews:
        entry = entries.get(build_entry_key(user, book))
        stars = entry.stars if entry and entry.is_public else None
        if stars is not None or not (is_review or is_hidden):
            found[build_entry_key(user, book)] = RatedPost(user, book, post, bool(is_review), stars)
    return found


def find_stars(post_ids: Iterable[int]) -> dict[int, int]:
    """Return the public stars of these posts, in halves, by post, in three queries."""
    reviews = Review.objects.using(database()).filter(pk__in=post_ids).exclude(book=None)
    rated = load_rated_posts(list(reviews.values_list("user_id", "book_id")))
    return {row.post: row.stars for row in rated.values() if row.stars is not None}
