"""Mirrors of reviews: their texts, their orders on the pages of books, and the stars of their posts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

import mirror
from accounts.models import User
from catalog.shelves.mirrors import PRIVACY_COLUMNS
from catalog.shelves.models import ShelfEntry, ShelfSettings
from catalog.shelves.records import build_entry_key
from common.database import pairs
from common.ids import parse_ids
from mirror import Contribution, Family, Lookup, Mirror, Ranking, Record, Scored, SqlMembers, Value, Watch
from mirror.conf import setting
from mirror.read import RawRecord
from social import keys
from social.models import Like, Post
from social.queries.notifications import find_liked_by
from social.reviews import records
from social.reviews.models import Review


@mirror.register
class ReviewMirror(Mirror[RawRecord]):
    """The texts of reviews. Pages show them only beside a visible post, so hidden ones stay here."""

    name = "review"
    label = _("reviews")
    model = Review
    key = keys.review("{pk}")
    fields = ("text", "language")
    where = ~Q(text="")
    record_class = RawRecord


def _rows() -> QuerySet[Review]:
    return Review._base_manager.using(setting("DATABASE"))


def find_reviews_by_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of reviews by these users."""
    found = _rows().filter(user_id__in=parse_ids(values))
    if after is not None:
        found = found.filter(pk__gt=after)
    return [str(pk) for pk in found.order_by("pk").values_list("pk", flat=True)[:limit]]


def find_reviews_by_and_liked_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of reviews by these users, and of posts that they like."""
    found = {*find_reviews_by_users(values, after, limit), *find_liked_by(values, after, limit)}
    return sorted(found, key=int)[:limit]


def _find_reviews_of(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(records.select_public_reviews().filter(book_id__in=parse_ids([values["book"]])), "pk", "pk")


def _find_helpful(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(records.select_helpful_reviews().filter(book_id__in=parse_ids([values["book"]])), "pk", "score")


def _find_review_by(values: Mapping[str, str]) -> SqlMembers:
    book, user = parse_ids([values["book"]]), parse_ids([values["value"]])
    return SqlMembers(records.select_reviews().filter(book_id__in=book, user_id__in=user))


@mirror.register
class RankedReviewMirror(Mirror):
    """The public reviews of each book by time and by likes, and each reader's review of it.

    Apart from the texts, because each like of a review changes its place. Likes that wait share one drain, and update
    no row in SQL: a column with their number would make all likes of a review wait for one row. With 10,000 reviews a
    page takes 4 to 6 ms at any depth, and 170 ms with Redis away. Reviews with more than 1,000 likes are ordered by
    time.
    """

    name = "ranked_review"
    version = 3  # without likes of inactive users
    label = _("orders of reviews")
    model = Review
    key = keys.ranked_review("{pk}")
    # A reader who likes a review sees the new number at once, and its place may follow.
    drain = "after_response"
    indexes = (
        Ranking(keys.reviews_of("{{book}}"), score="id", sql=_find_reviews_of),
        Ranking(keys.helpful_reviews("{{book}}"), score="score", sql=_find_helpful),
        Lookup(keys.review_by("{{book}}", "{value}"), on="user", sql=_find_review_by),
    )
    watches = (
        Watch(Review, only=("user_id", "book_id", "text")),
        Watch(Post, only=("is_hidden",), inserts=False),
        Watch(User, via=find_reviews_by_and_liked_by, only=("is_active", "is_private"), inserts=False),
        # The likes of other posts make changes as well, which find no review.
        Watch(Like, "post_id"),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, records.RankedReview]:
        return records.load_ranked_reviews(parse_ids(pks))

    def record(self, row: Any) -> Record:
        return dict(row._asdict())

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        book = record["book"]
        if not record["is_private"]:
            yield Scored(keys.reviews_of(book), pk, record["id"])
            yield Scored(keys.helpful_reviews(book), pk, records.score_likes(record["likes"], record["id"]))
        # Followers of a private account find its reviews by their author.
        yield Value(keys.review_by(book, record["user"]), pk)


def _find_next_rated(condition: Q, after: str | None, limit: int) -> list[str]:
    rows = _rows().filter(condition).exclude(book=None)
    return pairs.list_next(rows, "user_id", "book_id", after, limit)


def find_rated_by_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of reviews and ratings by these users, by user and book."""
    return _find_next_rated(Q(user_id__in=parse_ids(values)), after, limit)


def _find_starred(values: Mapping[str, str]) -> SqlMembers:
    rows = records.select_starred_reviews().filter(book_id__in=parse_ids([values["book"]]))
    return SqlMembers(rows, "user_id", "score")


def _find_hidden_ratings(values: Mapping[str, str]) -> SqlMembers:
    rows = records.select_hidden_ratings().filter(user_id__in=parse_ids([values["user"]]))
    return SqlMembers(rows, "book_id", "pk")


@mirror.register
class RatedPostMirror(Mirror):
    """The stars of reviews and ratings, as far as the reader's shelf is public, and each reader's hidden ratings.

    The key is "<user>:<book>" as that of the shelf's entry, so that a rating is one change and no search for its post.
    Strict, because a post must not show the stars of a shelf that was made private.
    """

    name = "rated_post"
    version = 2  # with hidden ratings
    label = _("stars of posts")
    model = Review
    key = keys.rated_post("{pk}")
    strict = True
    indexes = (
        Ranking(keys.starred_reviews("{{book}}"), score="score", owner="{member}:{book}", sql=_find_starred),
        Ranking(keys.hidden_ratings("{{user}}"), score="post", owner="{user}:{member}", sql=_find_hidden_ratings),
    )
    watches = (
        Watch(Review, ("user_id", "book_id"), only=("post_id", "text")),
        Watch(Post, ("user_id", "book_id"), only=("is_hidden",), inserts=False),
        Watch(ShelfEntry, ("user_id", "book_id"), only=("stars", "shelf")),
        Watch(ShelfSettings, via=find_rated_by_users, only=PRIVACY_COLUMNS),
        Watch(User, via=find_rated_by_users, only=("is_active",), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, records.RatedPost]:
        return records.load_rated_posts(pairs.parse_pairs(pks))

    def record(self, row: Any) -> Record:
        return dict(row._asdict())

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        if record["stars"] is None:
            yield Scored(keys.hidden_ratings(record["user"]), str(record["book"]), record["post"])
            return
        yield Value(keys.post_stars(record["post"]), f"{pk}:{record['stars']}")
        if record["is_review"]:
            score = records.score_stars(record["stars"], record["post"])
            yield Scored(keys.starred_reviews(record["book"]), str(record["user"]), score)

    def families(self) -> Sequence[Family]:
        # The value names the row, because the post does not.
        stars = Family(keys.post_stars(""), "string", lambda key, value: value.rpartition(":")[0])
        return [*super().families(), stars]

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return _find_next_rated(Q(), after, limit)

    def pk_of(self, key: str) -> str | None:
        start = self.record_key("")
        pk = key.removeprefix(start)
        pair = pairs.parse_pairs([pk]) if key.startswith(start) else []
        # "007:5" is no name of a row, although its parts are numbers.
        return pk if pair and build_entry_key(*pair[0]) == pk else None
