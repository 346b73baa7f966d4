"""The leaderboard from SQL, which is the fallback and gives exactly the same pages as Redis.

Every query walks an index from the start of the page. Ties and the following counts are two queries, because databases
do not walk an index for "a < x or (a = x and b < y)".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast

from accounts.leaderboard.page import (
    NEIGHBOURS_PER_SIDE,
    PAGE_SIZE,
    BoardPlaces,
    Cursor,
    Place,
    Slice,
)
from accounts.models import LoginStats, User
from mirror.conf import setting

StatsQuerySet = QuerySet[Any]  # of LoginStats, with the alias "text"


def find_places(me: int | None, cursor: Cursor, *, is_whole: bool) -> BoardPlaces:
    """Return the places of the page at ``cursor``, and those around the viewer ``me``.

    is_whole: with the users who do not show their logins.
    """
    return _Board(is_whole).find_places(me, cursor)


@dataclass(frozen=True)
class _Board:
    """The users with logins: all of them, or those who show their logins to everyone."""

    is_whole: bool

    def find_places(self, me: int | None, cursor: Cursor) -> BoardPlaces:
        mine = None if me is None else self._find_place(me)
        page = self._find_page(cursor, mine)
        around = self._find_places_around(mine, NEIGHBOURS_PER_SIDE, NEIGHBOURS_PER_SIDE + 1) if mine else []
        return BoardPlaces(self._count_places(Q()), self._make_slice(page), self._make_slice(around))

    def _users_with_logins(self) -> StatsQuerySet:
        """Return the users with at least one login. ``text`` is the id as the sorted set compares it."""
        rows = LoginStats._base_manager.using(setting("DATABASE")).filter(login_times__gt=0)
        if not self.is_whole:
            rows = rows.filter(user__shows_logins=True)
        return rows.alias(text=Cast("user_id", TextField()))

    def _users_on_board(self) -> StatsQuerySet:
        """Return the users on the board: the active ones with at least one login."""
        return self._users_with_logins().filter(user__is_active=True)

    def _read_places(self, rows: StatsQuerySet, limit: int) -> list[Place]:
        return [Place(*row) for row in rows.values_list("login_times", "user_id")[:limit]]

    def _find_place(self, pk: int) -> Place | None:
        return next(iter(self._read_places(self._users_on_board().filter(pk=pk), 1)), None)

    def _find_places_after(self, place: Place, limit: int) -> list[Place]:
        """Return the next places after ``place``, which may be vacant."""
        ties = self._users_on_board().filter(login_times=place.times, text__lt=str(place.id)).order_by(F("text").desc())
        found = self._read_places(ties, limit)
        if len(found) < limit:
            rest = self._users_on_board().filter(login_times__lt=place.times).order_by("-login_times", F("text").desc())
            found += self._read_places(rest, limit - len(found))
        return found

    def _find_places_before(self, place: Place, limit: int) -> list[Place]:
        """Return the places right before ``place``, in the order of the board."""
        ties = self._users_on_board().filter(login_times=place.times, text__gt=str(place.id)).order_by(F("text").asc())
        found = self._read_places(ties, limit)
        if len(found) < limit:
            rest = self._users_on_board().filter(login_times__gt=place.times).order_by("login_times", F("text").asc())
            found += self._read_places(rest, limit - len(found))
        return found[::-1]

    def _find_places_around(self, place: Place, before: int, size: int) -> list[Place]:
        """Return up to ``before`` places before ``place``, the place itself, and up to ``size - 1`` places after it."""
        return [*self._find_places_before(place, before), place, *self._find_places_after(place, size - 1)]

    def _find_page(self, cursor: Cursor, mine: Place | None) -> list[Place]:
        found: list[Place] = []
        if cursor.kind == "after":
            found = self._find_places_after(cursor.place, PAGE_SIZE)
        elif cursor.kind == "before":
            found = self._find_places_before(cursor.place, PAGE_SIZE)
            found = found if len(found) == PAGE_SIZE else []
        elif cursor.kind == "me" and mine:
            ahead = self._find_places_before(mine, PAGE_SIZE // 2)
            found = [*ahead, mine, *self._find_places_after(mine, PAGE_SIZE - 1 - len(ahead))]
        return found or self._read_places(self._users_on_board().order_by("-login_times", F("text").desc()), PAGE_SIZE)

    def _make_slice(self, places: Sequence[Place]) -> Slice:
        """Return the places as a slice, with the number of places before them and the first rank."""
        if not places:
            return Slice(0, 1, [])
        first = places[0]
        above = self._count_places(Q(login_times__gt=first.times))
        return Slice(above + self._count_places(Q(login_times=first.times, text__gt=str(first.id))), above + 1, places)

    def _count_places(self, condition: Q) -> int:
        """Count the places that match: all users, from the index alone, minus the few inactive ones."""
        hidden = User._base_manager.using(setting("DATABASE")).filter(is_active=False).values("pk")
        rows = self._users_with_logins().filter(condition)
        return rows.count() - rows.filter(pk__in=hidden).count()
