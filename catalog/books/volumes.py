"""The volumes before and after a book in its series, from Redis or, with the same answer, from SQL.

A series belongs to one author, because several authors use the same name ("Immortals"). Volumes by another author
mostly still name the first author of the series.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from catalog import keys
from catalog.books.records import BookRecord
from catalog.books.series import Series, parse_series, split_title
from catalog.models import Book
from mirror import Question, answer
from mirror.conf import database
from mirror.redis import RedisPipeline

MAX_VOLUMES: Final = 200  # of a series on its page
MAX_AUTHORS: Final = 4  # authors of a book; volumes are found in their series


class Volume(NamedTuple):
    """A book in a series. Volumes compare by number, then by id."""

    number: float
    id: int
    title: str

    @property
    def short_title(self) -> str:
        """The title without the series at its end."""
        return split_title(self.title)[0]


class SeriesPlace(NamedTuple):
    """A series of a book, and the volumes before and after the book, if they exist.

    author: the author of the book to whom the series belongs; None: the book has no author.
    """

    series: Series
    previous: Volume | None
    next: Volume | None
    author: int | None


def find_series_places(book: BookRecord) -> list[SeriesPlace]:
    """Return the book's places in its series. From a warm mirror: 1 round trip and no SQL; 0 without a series."""
    series, authors = parse_series(book["title"]), book["author_ids"][:MAX_AUTHORS]
    if not series or not authors:
        return [SeriesPlace(one, None, None, None) for one in series]

    def ask(pipe: RedisPipeline) -> None:
        for one in series:
            for author in authors:
                key = keys.series(author, one.normalised_name)
                pipe.zrevrangebyscore(key, f"({one.first!r}", "-inf", start=0, num=1, withscores=True)
                pipe.zrangebyscore(key, f"({one.last!r}", "+inf", start=0, num=1, withscores=True)

    def decode(replies: list[Any]) -> list[SeriesPlace]:
        left = iter(replies)
        places = []
        for one in series:
            volumes = {}
            for author in authors:
                members = chain.from_iterable(islice(left, 2))
                volumes[author] = [_parse_volume(member, score) for member, score in members]
            places.append(_build_place(one, volumes))
        return places

    # A question, because a series is a part of titles, and no query in SQL finds its volumes.
    return answer(Question(["book"], ask, decode, load=lambda: _find_in_sql(series, authors)))


def _parse_volume(member: bytes, score: float) -> Volume:
    pk, _, title = member.decode().partition("\0")
    return Volume(float(score), int(pk), title)


def _find_in_sql(series: Sequence[Series], authors: Sequence[int]) -> list[SeriesPlace]:
    """Return the places from SQL."""
    found = _load_volumes(authors)
    return [_build_place(one, {author: found[author, one.normalised_name] for author in authors}) for one in series]


def _load_volumes(authors: Sequence[int]) -> Mapping[tuple[int, str], list[Volume]]:
    """Return the volumes by author and series, with one query for the authors' titles that may name a series."""
    rows = Book.objects.using(database()).filter(authors__in=authors, title__contains="#")
    volumes: dict[tuple[int, str], list[Volume]] = defaultdict(list)
    for author, pk, title in rows.order_by().values_list("authors", "pk", "title"):
        for other in parse_series(title):
            # "#1-3" is a collection of volumes, and no volume before or after another one.
            if other.is_single:
                volumes[author, other.normalised_name].append(Volume(other.first, pk, title))
    return volumes


def _build_place(series: Series, volumes: Mapping[int, Sequence[Volume]]) -> SeriesPlace:
    """Return the place of a book. volumes: those of the series by author, in the order of the book's authors."""
    before: set[Volume] = set()
    after: set[Volume] = set()
    author = None
    for pk, found in volumes.items():
        others = [volume for volume in found if not series.first <= volume.number <= series.last]
        before.update(volume for volume in others if volume.number < series.first)
        after.update(volume for volume in others if volume.number > series.last)
        # The first author may only have joined for this book.
        if others and author is None:
            author = pk
    first = next(iter(volumes))
    return SeriesPlace(series, max(before, default=None), min(after, default=None), author or first)


def find_volumes(author: int, name: str) -> list[Volume]:
    """Return the single volumes of an author's series (its normalised name) in order.

    From a warm mirror: 1 round trip and no SQL.
    """

    def ask(pipe: RedisPipeline) -> None:
        pipe.zrange(keys.series(author, name), 0, MAX_VOLUMES - 1, withscores=True)

    def decode(replies: list[Any]) -> list[Volume]:
        return [_parse_volume(member, score) for member, score in replies[0]]

    return answer(Question(["book"], ask, decode, lambda: sorted(_load_volumes([author])[author, name])[:MAX_VOLUMES]))
