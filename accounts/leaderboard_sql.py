"""The leaderboard from SQL, which is the fallback and gives exactly the same pages as Redis.

Every query walks an index from the start of the page. Ties and the following counts are two queries, because databases
do not walk an index for "a < x or (a = x and b < y)".
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast

from accounts import hiding
from accounts.leaderboard import BESIDE, PAGE, Cursor, Found, LastLogin, Leaderboard, Place, Slice, read_cursor
from accounts.models import LoginStats, User
from accounts.records import time_text
from mirror.conf import setting

Rows = QuerySet[Any]  # of LoginStats, with the alias "text"


def leaderboard(me: int | None, at: str, last: int) -> Leaderboard:
    """Return the page at the cursor ``at`` for the viewer ``me``, with the ``last`` last logins."""
    mine = None if me is None else _place_of(me)
    page = _page(read_cursor(at), mine)
    around = _between(mine, BESIDE, BESIDE + 1) if mine else []
    found = Found(_count(Q()), _slice(page), _slice(around))
    return Leaderboard(me, at, found, _names([*page, *around], me), last_logins(last, me), last)


def rank_of(pk: int) -> int | None:
    """Return 1 plus the number of users with more logins; None for a user outside the board."""
    mine = _place_of(pk)
    return _count(Q(login_times__gt=mine.times)) + 1 if mine else None


def last_logins(limit: int, me: int | None = None) -> list[LastLogin]:
    """Return the last logins, newest first, without users hidden from the viewer ``me``."""
    rows = _board().order_by("-last_login_time", "-user_id")
    found = list(rows.values_list("user_id", "user__username", "last_login_time")[:limit])
    hidden = hiding.by_sql(me, [pk for pk, *_ in found])
    return [LastLogin(pk, name, time_text(time)) for pk, name, time in found if pk not in hidden]


def most_logins(limit: int) -> list[int]:
    """Return the ids of the users with the most logins, in the order of the board."""
    return [place.id for place in _places(_board().order_by("-login_times", F("text").desc()), limit)]


def _stats() -> Rows:
    """Return the users with at least one login. ``text`` is the id as the sorted set compares it."""
    rows = LoginStats._base_manager.using(setting("DATABASE")).filter(login_times__gt=0)
    return rows.alias(text=Cast("user_id", TextField()))


def _board() -> Rows:
    """Return the users on the board: the active ones with at least one login."""
    return _stats().filter(user__is_active=True)


def _places(rows: Rows, limit: int) -> list[Place]:
    return [Place(*row) for row in rows.values_list("login_times", "user_id")[:limit]]


def _place_of(pk: int) -> Place | None:
    return next(iter(_places(_board().filter(pk=pk), 1)), None)


def _after(place: Place, limit: int) -> list[Place]:
    """Return the next places after ``place``, which may be vacant."""
    ties = _board().filter(login_times=place.times, text__lt=str(place.id)).order_by(F("text").desc())
    found = _places(ties, limit)
    if len(found) < limit:
        rest = _board().filter(login_times__lt=place.times).order_by("-login_times", F("text").desc())
        found += _places(rest, limit - len(found))
    return found


def _before(place: Place, limit: int) -> list[Place]:
    """Return the places right before ``place``, in the order of the board."""
    ties = _board().filter(login_times=place.times, text__gt=str(place.id)).order_by(F("text").asc())
    found = _places(ties, limit)
    if len(found) < limit:
        rest = _board().filter(login_times__gt=place.times).order_by("login_times", F("text").asc())
        found += _places(rest, limit - len(found))
    return found[::-1]


def _between(place: Place, before: int, size: int) -> list[Place]:
    """Return up to ``before`` places before ``place``, the place itself, and up to ``size - 1`` places after it."""
    return [*_before(place, before), place, *_after(place, size - 1)]


def _page(cursor: Cursor, mine: Place | None) -> list[Place]:
    found: list[Place] = []
    if cursor.kind == "after":
        found = _after(cursor.place, PAGE)
    elif cursor.kind == "before":
        found = _before(cursor.place, PAGE)
        found = found if len(found) == PAGE else []
    elif cursor.kind == "me" and mine:
        ahead = _before(mine, PAGE // 2)
        found = [*ahead, mine, *_after(mine, PAGE - 1 - len(ahead))]
    return found or _places(_board().order_by("-login_times", F("text").desc()), PAGE)


def _slice(places: Sequence[Place]) -> Slice:
    """Return the places as a slice, with the number of places before them and the first rank."""
    if not places:
        return Slice(0, 1, [])
    first = places[0]
    above = _count(Q(login_times__gt=first.times))
    return Slice(above + _count(Q(login_times=first.times, text__gt=str(first.id))), above + 1, places)


def _count(condition: Q) -> int:
    """Count the places that match: all users, from the index alone, minus the few inactive ones."""
    hidden = User._base_manager.using(setting("DATABASE")).filter(is_active=False).values("pk")
    rows = _stats().filter(condition)
    return rows.count() - rows.filter(pk__in=hidden).count()


def _names(places: Sequence[Place], me: int | None) -> dict[int, str]:
    """Return the names by id, without users hidden from the viewer ``me``."""
    ids = {place.id for place in places}
    found = User._base_manager.using(setting("DATABASE")).filter(pk__in=ids - hiding.by_sql(me, ids))
    return dict(found.values_list("pk", "username"))
