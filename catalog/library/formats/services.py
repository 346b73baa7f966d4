"""The columns of each service, as tables. ``rows`` reads all of them in one way.

The columns are those of exports in public bug reports of importers. A service may have other columns; they are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

WANT, READING, READ, ABANDONED = "want-to-read", "reading", "read", "did-not-finish"

_STATES: Final = {"to-read": WANT, "currently-reading": READING, "read": READ}  # of Goodreads and The StoryGraph


@dataclass(frozen=True, kw_only=True)
class Service:
    """The meaning of a service's columns. An empty name means that the service has no such column.

    marks: columns that only this service has all of. inverted_author: a column with the last name first. ids:
    alternatives, of which the first one with an ISBN counts. shelf: the column with the exclusive shelf, or with
    several names of which one is a shelf (``shelves``: by name, in lower case). tags: columns with names of lists,
    separated by commas. readings: a column with several ranges of dates. given_up: one with those of readings that did
    not come to the end. is_own: the site's own export: reviews are Markdown, and tags are names of lists. details: a
    column that only this export has (``read_details``).
    """

    name: str
    label: str
    marks: frozenset[str]
    title: str = "Title"
    authors: tuple[str, ...] = ()
    inverted_author: str = ""
    ids: tuple[str, ...] = ()
    goodreads_id: str = ""
    stars: str = ""
    shelf: str = ""
    shelves: Mapping[str, str] = field(default_factory=dict)
    added: str = ""
    started: str = ""
    finished: str = ""
    readings: str = ""
    times_read: str = ""
    review: str = ""
    spoiler: str = ""
    tags: tuple[str, ...] = ()
    given_up: str = ""
    details: str = ""
    is_own: bool = False

    @property
    def dates(self) -> tuple[str, ...]:
        """The columns with dates."""
        return (self.added, self.started, self.finished, self.readings)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that are kept of a file."""
        single = (self.title, self.goodreads_id, self.stars, self.shelf)
        more = (self.given_up, self.times_read, self.review, self.spoiler, self.details)
        return frozenset(single + more + self.dates + self.authors + self.ids + self.tags) - {""}


_ALL: Final = (
    Service(
        name="goodreads",
        label="Goodreads",
        marks=frozenset({"Title", "Author", "Exclusive Shelf", "Bookshelves"}),
        authors=("Author", "Additional Authors"),
        ids=("ISBN13", "ISBN"),
        goodreads_id="Book Id",
        stars="My Rating",
        shelf="Exclusive Shelf",
        shelves=_STATES,
        added="Date Added",
        finished="Date Read",
        times_read="Read Count",
        review="My Review",
        spoiler="Spoiler",
        tags=("Bookshelves",),
    ),
    Service(
        name="storygraph",
        label="The StoryGraph",
        marks=frozenset({"Title", "Read Status", "Star Rating"}),
        authors=("Authors", "Author"),
        ids=("ISBN/UID", "ISBN"),
        stars="Star Rating",
        shelf="Read Status",
        shelves=_STATES | {"paused": READING},
        added="Date Added",
        finished="Last Date Read",
        readings="Dates Read",
        times_read="Read Count",
        review="Review",
        tags=("Tags",),
    ),
    Service(
        name="librarything",
        label="LibraryThing",
        marks=frozenset({"Title", "Primary Author", "Collections"}),
        authors=("Primary Author", "Secondary Author"),
        inverted_author="Primary Author",
        ids=("ISBN", "ISBNs"),
        stars="Rating",
        shelf="Collections",
        shelves={"to read": WANT, "wishlist": WANT, "currently reading": READING, "read but unowned": READ},
        added="Entry Date",
        started="Date Started",
        finished="Date Read",
        review="Review",
        tags=("Tags", "Collections"),
    ),
    Service(
        name="diptych",
        label="Diptych",
        marks=frozenset({"Title", "Shelf", "Dates Given Up"}),
        authors=("Authors",),
        ids=("ISBN",),
        stars="Rating",
        shelf="Shelf",
        shelves={WANT: WANT, READING: READING, READ: READ},
        added="Date Added",
        readings="Dates Read",
        given_up="Dates Given Up",
        times_read="Read Count",
        review="Review",
        tags=("Lists",),
        details="Details",
        is_own=True,
    ),
    # Any table with this column, and plain lists of ISBNs, whose only column gets this name.
    Service(name="isbns", label="ISBN", marks=frozenset({"ISBN"}), authors=("Author",), ids=("ISBN",)),
)
SERVICES: Final = {service.name: service for service in _ALL}
# Names of exclusive shelves for books that were given up. No service agrees on one.
ABANDONED_NAMES: Final = frozenset(
    {"did-not-finish", "dnf", "didnt-finish", "did not finish", "unfinished", "abandoned", "stopped-reading", "gave-up"}
)
# Books that were begun and laid down for a while. No shelf here is for them.
PAUSED_NAMES: Final = frozenset({"paused", "on-hold", "on hold"})
# Collections of LibraryThing that say nothing about the book.
NO_LISTS: Final = frozenset({"your library", "to-read", "currently-reading", "read"})
