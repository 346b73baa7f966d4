"""The leaderboard by SQL: what is true, and what answers when Redis cannot. The same pages, to the letter.

Every query walks an index from where the page begins; ties and the rest are asked one after the other, because no
index is walked for "a < x or (a = x and b < y)".
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

Rows = QuerySet[Any]  # of LoginStats, with "text" beside its fields


def leaderboard(me: int | None, at: str, last: int) -> Leaderboard:
    """The page at the cursor ``at`` as ``me`` sees it, and the ``last`` people to log in."""
    mine = None if me is None else _place_of(me)
    page = _page(read_cursor(at), mine)
    around = _between(mine, BESIDE, BESIDE + 1) if mine else []
    found = Found(_count(Q()), _slice(page), _slice(around))
    return Leaderboard(me, at, found, _names([*page, *around], me), last_logins(last, me), last)


def rank_of(pk: int) -> int | None:
    """1 + how many have logged in more often; None: not on the board."""
    mine = _place_of(pk)
    return _count(Q(login_times__gt=mine.times)) + 1 if mine else None


def last_logins(limit: int, me: int | None = None) -> list[LastLogin]:
    """The last people to log in, newest first, without those who are hidden from user ``me``."""
    rows = _board().order_by("-last_login_time", "-user_id")
    found = list(rows.values_list("user_id", "user__username", "last_login_time")[:limit])
    hidden = hiding.by_sql(me, [pk for pk, *_ in found])
    return [LastLogin(pk, name, time_text(time)) for pk, name, time in found if pk not in hidden]


def most_logins(limit: int) -> list[int]:
    """The ids of those who have logged in most often, in the order of the board."""
    return [place.id for place in _places(_board().order_by("-login_times", F("text").desc()), limit)]


def _stats() -> Rows:
    """Who has ever logged in; ``text`` is the id as the sorted set compares it."""
    rows = LoginStats._base_manager.using(setting("DATABASE")).filter(login_times__gt=0)
    return rows.alias(text=Cast("user_id", TextField()))


def _board() -> Rows:
    """Who is on the board."""
    return _stats().filter(user__is_active=True)


def _places(rows: Rows, limit: int) -> list[Place]:
    return [Place(*row) for row in rows.values_list("login_times", "user_id")[:limit]]


def _place_of(pk: int) -> Place | None:
    return next(iter(_places(_board().filter(pk=pk), 1)), None)


def _after(place: Place, limit: int) -> list[Place]:
    """The next places after ``place``, which need not be taken by anybody."""
    ties = _board().filter(login_times=place.times, text__lt=str(place.id)).order_by(F("text").desc())
    found = _places(ties, limit)
    if len(found) < limit:
        rest = _board().filter(login_times__lt=place.times).order_by("-login_times", F("text").desc())
        found += _places(rest, limit - len(found))
    return found


def _before(place: Place, limit: int) -> list[Place]:
    """The places right before ``place``, in the order of the board."""
    ties = _board().filter(login_times=place.times, text__gt=str(place.id)).order_by(F("text").asc())
    found = _places(ties, limit)
    if len(found) < limit:
        rest = _board().filter(login_times__gt=place.times).order_by("login_times", F("text").asc())
        found += _places(rest, limit - len(found))
    return found[::-1]


def _between(place: Place, before: int, size: int) -> list[Place]:
    """Up to ``before`` places before ``place``, itself, and ``size - 1`` after it."""
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
    """With what stands before them."""
    if not places:
        return Slice(0, 1, [])
    first = places[0]
    above = _count(Q(login_times__gt=first.times))
    return Slice(above + _count(Q(login_times=first.times, text__gt=str(first.id))), above + 1, places)


def _count(condition: Q) -> int:
    """How many on the board. All are counted, from the index alone, and the few who are not active taken off."""
    hidden = User._base_manager.using(setting("DATABASE")).filter(is_active=False).values("pk")
    rows = _stats().filter(condition)
    return rows.count() - rows.filter(pk__in=hidden).count()


def _names(places: Sequence[Place], me: int | None) -> dict[int, str]:
    """The names of those who are not hidden from user ``me``."""
    ids = {place.id for place in places}
    found = User._base_manager.using(setting("DATABASE")).filter(pk__in=ids - hiding.by_sql(me, ids))
    return dict(found.values_list("pk", "username"))
