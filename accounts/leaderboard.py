"""Who logs in most often: what a page of it says, and the addresses of the pages around it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, Literal, NamedTuple
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.urls import reverse

PAGE: Final = 20  # people
BESIDE: Final = 2  # neighbours on each side
LAST: Final = 10  # of the last to log in, unless another number is asked for
MOST_LAST: Final = 100
CHOICES: Final = (10, 30, 100)  # of the last, offered
MINE: Final = "me"  # stands for the page with oneself on it
# A new layout takes a new salt: cursors of the old one are then nobody's.
SALT: Final = "accounts.leaderboard.1"

Kind = Literal["first", "after", "before", "me"]


class Place(NamedTuple):
    """A place in the order: by number of logins, descending, then by the id as text, descending."""

    times: int
    id: int


class Cursor(NamedTuple):
    """Which page: the first, the one after or before a place, or the one with oneself in its middle."""

    kind: Kind = "first"
    place: Place = Place(0, 0)

    def text(self) -> str:
        """As it stands in an address: signed, so that no others than ours are ever looked up."""
        return Signer(salt=SALT).sign_object([self.kind, *self.place])


def read_cursor(text: str) -> Cursor:
    """What ``text`` says; the first page if it is not one of ours."""
    if text == MINE:
        return Cursor("me")
    try:
        kind, times, pk = Signer(salt=SALT).unsign_object(text)
    except (BadSignature, ValueError, TypeError):  # tampered with; or signed, and yet not what this code writes
        return Cursor()
    return Cursor(kind, Place(times, pk))


class Slice(NamedTuple):
    """Some places in a row. start: how many are before them. rank: the first one's."""

    start: int
    rank: int
    places: Sequence[Place]

    def ranked(self) -> Iterator[tuple[int, Place]]:
        """With their ranks: equal counts have equal ranks, and the next is as if they had not (1, 1, 3)."""
        rank, times = self.rank, None
        for number, place in enumerate(self.places, self.start + 1):
            if times is not None and place.times != times:
                rank = number
            times = place.times
            yield rank, place


class Found(NamedTuple):
    """What was found, whoever found it. around: oneself and the neighbours (empty: not on the board)."""

    total: int
    page: Slice
    around: Slice


class Person(NamedTuple):
    """A person on the board."""

    rank: int
    id: int
    name: str
    login_times: int


class LastLogin(NamedTuple):
    """A person and when they logged in last (ISO 8601, UTC)."""

    id: int
    name: str
    last_login_time: str

    @property
    def time(self) -> datetime:
        """The same as a moment."""
        return datetime.fromisoformat(self.last_login_time)


class Choice(NamedTuple):
    """How many of the last to log in could be shown, whether it is as many now, and the address."""

    number: int
    is_current: bool
    url: str


@dataclass
class Leaderboard:
    """A page of it.

    me_id: who asks, if anybody. at: the cursor as it came. names: of all but those who are hidden from them, and take
    their places unseen. last: the last to log in, newest first; wanted: how many were asked for.
    """

    me_id: int | None
    at: str
    found: Found
    names: dict[int, str]
    last: list[LastLogin]
    wanted: int

    @property
    def count(self) -> int:
        """How many people are on the board, on all pages."""
        return self.found.total

    @cached_property
    def most(self) -> list[Person]:
        """This page's people."""
        return self._people(self.found.page)

    @cached_property
    def around(self) -> list[Person]:
        """The one who asks, between the neighbours; empty for whoever is not on the board."""
        return self._people(self.found.around)

    @property
    def me(self) -> Person | None:
        """The one who asks."""
        return next((person for person in self.around if person.id == self.me_id), None)

    @property
    def neighbours(self) -> list[Person]:
        """Those right before and after."""
        return [person for person in self.around if person.id != self.me_id]

    @property
    def next_url(self) -> str | None:
        """The address of the next page; None on the last."""
        start, _, places = self.found.page
        return self.url(Cursor("after", places[-1]).text()) if start + len(places) < self.count else None

    @property
    def previous_url(self) -> str | None:
        """The address of the page before; None on the first."""
        start, _, places = self.found.page
        return self.url(Cursor("before", places[0]).text()) if start else None

    @property
    def first_url(self) -> str:
        """The address of the first page."""
        return self.url()

    @property
    def my_url(self) -> str:
        """The address of the page with oneself on it."""
        return self.url(MINE)

    @property
    def choices(self) -> list[Choice]:
        """How many of the last to log in one may choose to see; the page stays."""
        return [Choice(number, number == self.wanted, self.url(self.at, number)) for number in CHOICES]

    def url(self, at: str = "", last: int | None = None) -> str:
        """The address of the page ``at``, with as many of the last to log in as now."""
        wanted = last or self.wanted
        given = {"at": at} if at else {}
        if wanted != LAST:
            given["last"] = str(wanted)
        return reverse("accounts:leaderboard") + (f"?{urlencode(given)}" if given else "")

    def _people(self, part: Slice) -> list[Person]:
        named = ((rank, pk, times, self.names.get(pk)) for rank, (times, pk) in part.ranked())
        return [Person(rank, pk, name, times) for rank, pk, times, name in named if name is not None]
