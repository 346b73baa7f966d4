"""Pages of reviews of a book, from Redis or, with the same answer, from SQL.

``viewer`` is the id of the reader, None for a visitor without a login.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

import mirror
from mirror import Place
from social import keys
from social.mirrors.edges import FollowMirror
from social.queries.records import PostRecord
from social.relations import blocks
from social.reviews.mirrors import RankedReviewMirror, RatedPostMirror
from social.reviews.records import find_id_in_score, score_stars, select_reviews
from social.timelines.pages import EXTRA_IDS, FURTHER_IDS, PAGE_SIZE, read_posts

MAX_SCORE: Final = 2**53  # above all scores


class Order(StrEnum):
    """The orders of a book's reviews. FOLLOWED: those of followed readers first, and then the most helpful ones."""

    HELPFUL = "helpful"
    NEWEST = "newest"
    STARS = "stars"
    FOLLOWED = "followed"


@dataclass(frozen=True)
class ReviewPage:
    """A page of the posts of reviews. after: the cursor of the next page, None on the last page."""

    posts: list[PostRecord]
    after: int | None


class BookReviews(NamedTuple):
    """A book's reviews. total: their number. own: the id of the viewer's review, or None."""

    page: ReviewPage
    total: int
    own: int | None


class _Position(NamedTuple):
    """The post of a review, and its score in an order."""

    post: int
    score: int


ReadChunk = Callable[[int, int], list[_Position]]  # below a score, and the number of positions


def get_reviews(
    book_id: int,
    viewer: int | None,
    order: Order = Order.HELPFUL,
    stars: int | None = None,
    after: int | None = None,
    size: int | None = None,
) -> BookReviews:
    """Return a page of a book's reviews: those with ``stars`` (in halves), newest first, or all in an order.

    From warm mirrors: 2 round trips, with the order FOLLOWED 5; with a viewer 1 more for blocks and mutes.
    """
    with mirror.together() as reads:
        page = reads(_read_page, book_id, viewer, order, stars, after, size or PAGE_SIZE)
        count = reads(RankedReviewMirror.count, keys.reviews_of(book_id))
        own = reads(_find_own, book_id, viewer)
    return BookReviews(page.value, count.value, own.value)


def _find_own(book_id: int, viewer: int | None) -> int | None:
    return None if viewer is None else RankedReviewMirror.find(keys.review_by(book_id, viewer))


def _read_page(
    book_id: int, viewer: int | None, order: Order, stars: int | None, after: int | None, size: int
) -> ReviewPage:
    below = after or MAX_SCORE
    if stars is not None:
        return _collect(viewer, lambda below, limit: _read_starred(book_id, below, limit, stars), below, size)
    if order == Order.FOLLOWED and viewer is not None:
        return _read_followed_first(book_id, viewer, after, size)
    match order:
        case Order.NEWEST:
            return _collect(viewer, lambda below, limit: _read_newest(book_id, below, limit), below, size)
        case Order.STARS:
            return _collect(viewer, lambda below, limit: _read_starred(book_id, below, limit), below, size)
        case _:
            return _collect(viewer, lambda below, limit: _read_helpful(book_id, below, limit), below, size)


def _read_newest(book_id: int, below: int, limit: int) -> list[_Position]:
    return _list_positions(RankedReviewMirror.page(keys.reviews_of(book_id), limit, high=below - 1, descending=True))


def _read_helpful(book_id: int, below: int, limit: int) -> list[_Position]:
    key = keys.helpful_reviews(book_id)
    return _list_positions(RankedReviewMirror.page(key, limit, high=below - 1, descending=True))


def _list_positions(places: Sequence[Place]) -> list[_Position]:
    return [_Position(place.pk, int(place.score)) for place in places]


def _read_starred(book_id: int, below: int, limit: int, stars: int | None = None) -> list[_Position]:
    """Return the next reviews by stars, or those with exactly these stars."""
    low = None
    if stars is not None:
        low, below = score_stars(stars, 0), min(below, score_stars(stars + 1, 0))
    places = RatedPostMirror.page(keys.starred_reviews(book_id), limit, low=low, high=below - 1, descending=True)
    return [_Position(find_id_in_score(place.score), int(place.score)) for place in places]


def _collect(
    viewer: int | None, read_chunk: ReadChunk, below: int, size: int, skipped: frozenset[int] = frozenset()
) -> ReviewPage:
    """Return the next ``size`` reviews that the viewer sees. below: the cursor. skipped: posts to leave out."""
    posts: list[PostRecord] = []
    cursors: list[int] = []  # of the posts: their scores in this order
    # Bounded steps, as in timelines: a reader who has muted many gets a short page with a next one.
    for limit in (size + EXTRA_IDS, *FURTHER_IDS):
        positions = read_chunk(below, limit)
        is_last_chunk = len(positions) < limit
        below = 0 if is_last_chunk else positions[-1].score
        scores = {position.post: position.score for position in positions if position.post not in skipped}
        for post in _read_visible(list(scores), viewer):
            posts.append(post)
            cursors.append(scores[post["id"]])
        if len(posts) > size or is_last_chunk:
            break
    if len(posts) > size:
        return ReviewPage(posts[:size], cursors[size - 1])
    return ReviewPage(posts, below or None)


def _read_visible(ids: Sequence[int], viewer: int | None) -> list[PostRecord]:
    """Return these posts without those of muted, blocked and blocking authors."""
    posts = read_posts(ids, viewer)
    if viewer is None or not posts:
        return posts
    blocked_and_muted = blocks.find_blocked_and_muted(viewer, {post["user"]["id"] for post in posts})
    return [post for post in posts if post["user"]["id"] not in blocked_and_muted]


def _read_followed_first(book_id: int, viewer: int, after: int | None, size: int) -> ReviewPage:
    """Return, on the first page, the newest reviews of followed readers, and on all pages the most helpful others."""
    ids = _find_followed(book_id, viewer)[:size]
    with mirror.together() as reads:
        first = reads(_read_visible, [] if after else ids, viewer)
        others = reads(_read_helpful_others, book_id, viewer, after or MAX_SCORE, size, frozenset(ids))
    return ReviewPage(first.value + others.value.posts, others.value.after)


def _read_helpful_others(book_id: int, viewer: int, below: int, size: int, skipped: frozenset[int]) -> ReviewPage:
    return _collect(viewer, lambda below, limit: _read_helpful(book_id, below, limit), below, size, skipped)


def _find_followed(book_id: int, viewer: int) -> list[int]:
    """Return the ids of the reviews of a book by the readers that the viewer follows, newest first."""
    follows = sorted(FollowMirror.members(keys.following(viewer)))
    if not follows:
        return []

    def decode(replies: Sequence[Any]) -> list[int]:
        (values,) = replies
        return sorted((int(value) for value in values if value is not None), reverse=True)

    def load() -> list[int]:
        rows = select_reviews().filter(book_id=book_id, user_id__in=follows)
        return list(rows.order_by("-pk").values_list("pk", flat=True))

    # One command for all of them: the keys of a book's reviewers are in one slot.
    wanted = [keys.review_by(book_id, user) for user in follows]
    return mirror.answer(mirror.Question(["ranked_review"], lambda pipe: pipe.mget(wanted), decode, load))
