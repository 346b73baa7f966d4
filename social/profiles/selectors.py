"""Read profiles from Redis or, with the same answer, from SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils import timezone

import mirror
from catalog.shelves.models import Shelf
from catalog.shelves.selectors import find_shelf_page, get_shelf_summary
from common import clock
from social.mirrors.profiles import ProfileMirror
from social.relations.audience import find_visible_levels
from social.relations.profiles import Profile

MAX_READING: Final = 4  # books that a reader is reading


@dataclass(frozen=True)
class About:
    """What a profile shows beside the posts. favourites, reading: books with id and title.

    links: https addresses.
    """

    bio: str = ""
    links: Sequence[str] = ()
    favourites: Sequence[Any] = ()
    reading: Sequence[Any] = ()

    @property
    def json(self) -> dict[str, Any]:
        """Return it as the JSON of a profile shows it."""
        reading = [{"id": book["id"], "title": book["title"]} for book in self.reading]
        return {"bio": self.bio, "links": self.links, "favourites": self.favourites, "reading": reading}


def read_texts(person: Profile) -> About:
    """Return the text and the links of a profile, for the head of its tabs. From a warm mirror: 1 round trip."""
    record = ProfileMirror.get(person.id)
    return About(record["bio"], record["links"]) if record else About()


def read_about(person: Profile) -> About:
    """Return what the visitor of a profile may see beside the posts. From warm mirrors: 2 round trips.

    The shelf may need 1 query more, as on the page of shelves.
    """
    with mirror.together() as reads:
        record = reads(ProfileMirror.get, person.id)
        summary = reads(get_shelf_summary, person.id, timezone.localdate(clock.now()).year)
        reading = reads(find_shelf_page, person.id, Shelf.READING)
    found = record.value or {"bio": "", "links": [], "favourites": []}
    books = [entry.book for entry in reading.value.entries[:MAX_READING]]
    # The shelf is read with its privacy, because asking for that first would take another round trip.
    privacy = summary.value.privacy[Shelf.READING]
    if books and privacy not in find_visible_levels(person, [privacy]):
        books = []
    return About(found["bio"], found["links"], found["favourites"], books)
