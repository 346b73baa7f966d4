"""The leaderboard of logins: the content of one page, and the URLs of the pages around it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, Literal, NamedTuple
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.urls import reverse

PAGE_SIZE: Final = 20  # users per page
NEIGHBOURS_PER_SIDE: Final = 2  # neighbours on each side
DEFAULT_LAST_LOGINS: Final = 10  # default number of last logins
MAX_LAST_LOGINS: Final = 100
LAST_LOGINS_CHOICES: Final = (10, 30, 100)  # offered numbers of last logins
OWN_PAGE: Final = "me"  # the cursor of the page with the viewer on it
# A new layout of cursors needs a new salt, which makes cursors of the old layout invalid.
SALT: Final = "accounts.leaderboard.1"

CursorKind = Literal["first", "after", "before", "me"]


class Place(NamedTuple):
    """A place on the board, which is sorted by the number of logins, then by the id as text, both descending."""

    times: int
    id: int


class Cursor(NamedTuple):
    """The position of a page: the first, after or before a place, or with the viewer in the middle."""

    kind: CursorKind = "first"
    place: Place = Place(0, 0)

    def text(self) -> str:
        """Return the cursor for a URL. It is signed, so that only cursors of this site are looked up."""
        return Signer(salt=SALT).sign_object([self.kind, *self.place])


def parse_cursor(text: str) -> Cursor:
    """Return the cursor of a text from a URL; the first page if the text is not a valid cursor."""
    if text == OWN_PAGE:
        return Cursor("me")
    try:
        kind, times, pk = Signer(salt=SALT).unsign_object(text)
    except (BadSignature, ValueError, TypeError):  # forged, or signed with another layout
        return Cursor()
    return Cursor(kind, Place(times, pk))


class Slice(NamedTuple):
    """Consecutive places. start: the number of places before them. rank: the rank of the first one."""

    start: int
    rank: int
    places: Sequence[Place]

    def iter_ranks(self) -> Iterator[tuple[int, Place]]:
        """Yield each place with its rank. Equal counts share a rank, and the next rank counts them all (1, 1, 3)."""
        rank, times = self.rank, None
        for number, place in enumerate(self.places, self.start + 1):
            if times is not None and place.times != times:
                rank = number
            times = place.times
            yield rank, place


class BoardPlaces(NamedTuple):
    """The places of one page, from either engine. around: the viewer and the neighbours; empty if not on the board."""

    total: int
    page: Slice
    around: Slice


class Person(NamedTuple):
    """A user on the board."""

    rank: int
    id: int
    name: str
    login_times: int


class LastLogin(NamedTuple):
    """A user and the time of the last login (ISO 8601, UTC)."""

    id: int
    name: str
    last_login_time: str

    @property
    def time(self) -> datetime:
        """Return the time of the last login as a datetime."""
        return datetime.fromisoformat(self.last_login_time)


class LastLoginsChoice(NamedTuple):
    """An offered number of last logins, whether it is the current one, and the URL that selects it."""

    number: int
    is_current: bool
    url: str


@dataclass
class Leaderboard:
    """A page of the leaderboard.

    me_id: the id of the viewer; None for an anonymous visitor. at: the cursor from the URL. names: by id, without
    users hidden from the viewer, which keep their ranks. last: the last logins, newest first. pictures: of all these
    users by id, empty without one. wanted: the requested number of last logins. own: the viewer, with the rank among
    all users, if only the viewer sees it.
    """

    me_id: int | None
    at: str
    board: BoardPlaces
    names: dict[int, str]
    last: list[LastLogin]
    pictures: dict[int, str]
    wanted: int
    own: Person | None = None

    @property
    def count(self) -> int:
        """Return the number of users on the board, on all pages."""
        return self.board.total

    @cached_property
    def most(self) -> list[Person]:
        """Return the users on this page."""
        return self._people(self.board.page)

    @cached_property
    def around(self) -> list[Person]:
        """Return the viewer between the neighbours; an empty list if the viewer is not on the board."""
        return self._people(self.board.around)

    @property
    def me(self) -> Person | None:
        """Return the viewer; None if the viewer has no logins."""
        return next((person for person in self.around if person.id == self.me_id), self.own)

    @property
    def neighbours(self) -> list[Person]:
        """Return the users right before and after the viewer."""
        return [person for person in self.around if person.id != self.me_id]

    @property
    def next_url(self) -> str | None:
        """Return the URL of the next page; None on the last one."""
        start, _, places = self.board.page
        return self.url(Cursor("after", places[-1]).text()) if start + len(places) < self.count else None

    @property
    def previous_url(self) -> str | None:
        """Return the URL of the previous page; None on the first one."""
        start, _, places = self.board.page
        return self.url(Cursor("before", places[0]).text()) if start else None

    @property
    def first_url(self) -> str:
        """Return the URL of the first page."""
        return self.url()

    @property
    def my_url(self) -> str:
        """Return the URL of the page with the viewer on it."""
        return self.url(OWN_PAGE)

    @property
    def choices(self) -> list[LastLoginsChoice]:
        """Return the offered numbers of last logins. Selecting one keeps the page."""
        return [
            LastLoginsChoice(number, number == self.wanted, self.url(self.at, number)) for number in LAST_LOGINS_CHOICES
        ]

    def url(self, at: str = "", last: int | None = None) -> str:
        """Return the URL of the page at cursor ``at`` with ``last`` last logins; by default as many as on this page."""
        wanted = last or self.wanted
        given = {"at": at} if at else {}
        if wanted != DEFAULT_LAST_LOGINS:
            given["last"] = str(wanted)
        return reverse("accounts:leaderboard") + (f"?{urlencode(given)}" if given else "")

    def _people(self, part: Slice) -> list[Person]:
        named = ((rank, pk, times, self.names.get(pk)) for rank, (times, pk) in part.iter_ranks())
        return [Person(rank, pk, name, times) for rank, pk, times, name in named if name is not None]
