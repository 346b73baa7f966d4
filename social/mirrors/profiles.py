"""The mirror of what readers tell about themselves."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

import mirror
from catalog.models import Book
from common.ids import parse_ids
from mirror import Mirror, Record, Watch
from mirror.conf import setting
from social import keys
from social.models import FavouriteBook, ReaderProfile, SimilarReaders


class ProfileRow(NamedTuple):
    """The values of a profile in SQL. favourites: the id, title, cover and design of each book."""

    bio: str
    links: list[str]
    favourites: list[tuple[int, str, str, str]]


def _favourites() -> Any:
    return FavouriteBook._base_manager.using(setting("DATABASE"))


def find_readers_of_favourites(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of readers with one of these books among their favourites."""
    found = _favourites().filter(book_id__in=parse_ids(values))
    if after is not None:
        found = found.filter(user_id__gt=after)
    return [str(pk) for pk in found.order_by("user_id").values_list("user_id", flat=True).distinct()[:limit]]


@mirror.register
class ProfileMirror(Mirror):
    """What a reader tells about themselves. The picture is in the records of the user and of the posts."""

    name = "profile"
    version = 2
    label = _("profiles")
    model = ReaderProfile
    key = keys.profile("{pk}")
    watches = (
        Watch(ReaderProfile),
        Watch(FavouriteBook, "user_id"),
        Watch(Book, via=find_readers_of_favourites, only=("title", "cover", "design"), inserts=False),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, ProfileRow]:
        ids = parse_ids(pks)
        books: dict[int, list[tuple[int, str, str, str]]] = defaultdict(list)
        columns = ("user_id", "book_id", "book__title", "book__cover", "book__design")
        for user, *book in _favourites().filter(user_id__in=ids).order_by("place").values_list(*columns):
            books[user].append(tuple(book))
        rows = ReaderProfile._base_manager.using(setting("DATABASE")).filter(pk__in=ids)
        found = rows.values_list("pk", "bio", "links")
        return {str(pk): ProfileRow(bio, links, books[pk]) for pk, bio, links in found}

    def record(self, row: Any) -> Record:
        names = ("id", "title", "cover", "design")
        favourites = [dict(zip(names, book, strict=True)) for book in row.favourites]
        return {"bio": row.bio, "links": list(row.links), "favourites": favourites}


@mirror.register
class SimilarMirror(Mirror):
    """The readers with similar taste, which SQL computes once a day."""

    name = "similar"
    label = _("readers with similar taste")
    model = SimilarReaders
    key = keys.similar("{pk}")
    fields = ("readers",)
