"""The volumes before and after a book in its series, from Redis or, with the same answer, from SQL.

A series belongs to one author, because several authors use the same name ("Immortals"). Volumes by another author
mostly still name the first author of the series.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from catalog import keys
from catalog.books.records import BookRecord
from catalog.books.series import Series, parse_series, split_title
from catalog.models import Book
from mirror import Question, answer
from mirror.conf import database
from mirror.redis import RedisPipeline

MAX_AUTHORS: Final = 4  # authors of a book in whose series volumes are found


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
    """A series of a book, and the volumes before and after the book, if they exist."""

    series: Series
    previous: Volume | None
    next: Volume | None


def find_series_places(book: BookRecord) -> list[SeriesPlace]:
    """Return the book's places in its series. From a warm mirror: 1 round trip and no SQL; 0 without a series."""
    series, authors = parse_series(book["title"]), book["author_ids"][:MAX_AUTHORS]
    if not series or not authors:
        return [SeriesPlace(one, None, None) for one in series]

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
            replies_of_series = islice(left, 2 * len(authors))
            members = chain.from_iterable(replies_of_series)
            volumes = [_parse_volume(member, score) for member, score in members]
            places.append(_build_place(one, volumes))
        return places

    # A question, because a series is a part of titles, and no query in SQL finds its volumes.
    return answer(Question(["book"], ask, decode, load=lambda: _find_in_sql(series, authors)))


def _parse_volume(member: bytes, score: float) -> Volume:
    pk, _, title = member.decode().partition("\0")
    return Volume(float(score), int(pk), title)


def _find_in_sql(series: Sequence[Series], authors: Sequence[int]) -> list[SeriesPlace]:
    """Return the places from SQL, with one query for the authors' titles that may name a series."""
    rows = Book.objects.using(database()).filter(authors__in=authors, title__contains="#")
    titles = list(rows.order_by().values_list("pk", "title").distinct())
    volumes: dict[str, list[Volume]] = defaultdict(list)
    for pk, title in titles:
        for other in parse_series(title):
            # "#1-3" is a collection of volumes, and no volume before or after another one.
            if other.is_single:
                volumes[other.normalised_name].append(Volume(other.first, pk, title))
    return [_build_place(one, volumes[one.normalised_name]) for one in series]


def _build_place(series: Series, volumes: Sequence[Volume]) -> SeriesPlace:
    before = [volume for volume in volumes if volume.number < series.first]
    after = [volume for volume in volumes if volume.number > series.last]
    return SeriesPlace(series, max(before, default=None), min(after, default=None))
