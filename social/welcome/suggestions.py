"""Genres, books and readers that the steps suggest. The work is bounded, however large the site is.

Genres are the most frequent tags with the name of one, and books the most read ones with the chosen genres. Readers
are those who gave these books the most stars, then the latest authors.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import mirror
from accounts.mirrors import users
from catalog import keys as catalog_keys
from catalog import query
from catalog.listing import BookRecord
from catalog.selectors import find_books
from catalog.shelves.mirrors import ShelfEntryMirror
from common.ids import MAX_ID
from social import keys
from social.mirrors import windows
from social.mirrors.edges import FollowMirror
from social.relations.blocks import find_blocked_and_muted
from social.relations.profiles import Person
from social.timelines.pages import read_records
from social.welcome.genres import is_genre
from social.welcome.models import ChosenGenre

MIN_GENRES: Final = 6  # offered without further tags
MAX_BOOKS: Final = 10  # suggested at once
BOOK_PAGES: Final = 5  # of the list of books in which those without a place on a shelf are found
MAX_GENRE_BOOKS: Final = 20  # books whose readers are candidates
MAX_BOOK_READERS: Final = 30  # candidates of each of these books
MAX_CANDIDATES: Final = 60  # of each kind
MAX_READERS: Final = 10


class Genre(NamedTuple):
    """A tag, and whether the reader has chosen it."""

    name: str
    is_chosen: bool


class SuggestedReader(NamedTuple):
    """A reader to follow. likes_genres: whether the reader gave stars to popular books of the chosen genres."""

    person: Person
    followers: int
    likes_genres: bool


def find_chosen(user_id: int) -> list[str]:
    """Return the names of the genres that a reader has chosen, from SQL in one query."""
    chosen = ChosenGenre.objects.filter(user_id=user_id, tag__hidden=False)
    return list(chosen.order_by("tag__name").values_list("tag__name", flat=True))


def suggest_genres(user_id: int) -> list[Genre]:
    """Return the chosen genres, then the most frequent ones; other frequent tags if the catalogue has few genres."""
    chosen = find_chosen(user_id)
    frequent = [name for name, _ in find_books().answer.facets]
    genres = list(filter(is_genre, frequent))
    offered = genres if len(genres) >= MIN_GENRES else frequent
    return [Genre(name, name in chosen) for name in dict.fromkeys([*chosen, *offered])]


def suggest_books(user_id: int) -> list[BookRecord]:
    """Return the most read books of the chosen genres, or of all genres, that are on none of the reader's shelves."""
    found = find_books(_build_query(find_chosen(user_id)), pages=BOOK_PAGES, viewer=user_id, is_brief=True)
    unshelved = [book for book, entry in zip(found.books, found.entries or (), strict=True) if entry is None]
    return unshelved[:MAX_BOOKS]


def suggest_followees(user_id: int) -> list[SuggestedReader]:
    """Return readers that ``user_id`` may see and does not follow: most stars for the chosen genres first, then most
    followers.

    Private, muted, blocked and blocking readers are left out. Warm mirrors answer in 5 round trips, and SQL only tells
    the chosen genres.
    """
    chosen = find_chosen(user_id)
    # Without genres, taste says nothing: who rates most books must not come first for every new reader.
    books = find_books(_build_query(chosen), is_brief=True).books[:MAX_GENRE_BOOKS] if chosen else []
    with mirror.together() as reads:
        liked = [reads(_find_fans, book["id"]) for book in books]
        latest = reads(windows.GlobalMirror.latest, "", MAX_CANDIDATES, MAX_ID)
    counts = Counter(pk for fans in liked for pk in fans.value)
    fans = sorted(counts, key=lambda pk: (-counts[pk], pk))[:MAX_CANDIDATES]
    authors = [post["user"]["id"] for post in read_records(latest.value, user_id)]
    candidates = [pk for pk in dict.fromkeys([*fans, *authors]) if pk != user_id]
    with mirror.together() as reads:
        people = reads(_find_public, user_id, candidates)
        followed = reads(FollowMirror.filter_members, keys.following(user_id), candidates)
        followers = [reads(FollowMirror.count, keys.followers(pk)) for pk in candidates]
    numbers = {pk: number.value for pk, number in zip(candidates, followers, strict=True)}
    found = [
        SuggestedReader(person, numbers[person.id], person.id in counts)
        for person in people.value
        if person.id not in followed.value
    ]
    found.sort(key=lambda one: (-counts[one.person.id], -one.followers, one.person.id))
    return found[:MAX_READERS]


def _build_query(names: Sequence[str]) -> str:
    """Return the query for books with any of these genres, or "" for all books."""
    if not names:
        return ""
    text = query.format_query(query.Or(tuple(map(query.Tag, names))))
    # Very long names: all books are better than an error.
    return text if len(text) <= query.MAX_LENGTH else ""


def _find_fans(book_id: int) -> list[int]:
    """Return readers who rated a book on a public shelf, most stars first."""
    places = ShelfEntryMirror.page(catalog_keys.stars_of(book_id), MAX_BOOK_READERS, descending=True)
    return [place.pk for place in places]


def _find_public(viewer: int, ids: Sequence[int]) -> list[Person]:
    """Return the active readers among ``ids`` whose accounts are public, without blocks and mutes."""
    with mirror.together() as reads:
        records = reads(users.UserMirror.get_many, ids)
        blocked_and_muted = reads(find_blocked_and_muted, viewer, ids)
    hidden: Collection[int] = blocked_and_muted.value
    return [
        Person(pk, user["name"], user["avatar"])
        for pk, user in records.value.items()
        if user["is_active"] == "1" and user["is_private"] != "1" and pk not in hidden
    ]
