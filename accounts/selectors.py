"""Read users and the leaderboard from Redis, with the same answer from SQL as the fallback."""

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.db.models import Count
from django.db.models.functions import TruncDate

from accounts import keys
from accounts.leaderboard import sql as leaderboard_sql
from accounts.leaderboard.page import (
    DEFAULT_LAST_LOGINS,
    MAX_LAST_LOGINS,
    NEIGHBOURS_PER_SIDE,
    PAGE_SIZE,
    BoardPlaces,
    LastLogin,
    Leaderboard,
    Place,
    Slice,
    parse_cursor,
)
from accounts.mirrors.users import UserMirror
from accounts.models import User
from accounts.users import hiding
from common.text import fold
from mirror.read import read
from mirror.redis import RedisPipeline, Script

BOARD_SCRIPT = Script(Path(__file__).parent / "lua" / "leaderboard.lua")


def find_user_id(name: str) -> int | None:
    """Return the id of the user with this name, in any case and width; None if no user has it. 1 round trip."""
    folded = fold(name)
    if not folded.isprintable():  # the databases do not accept every character of a URL
        return None
    found: int | None = UserMirror.find(keys.login_id(folded))
    return found


def find_rank(user_id: int) -> int | None:
    """Return 1 plus the number of users with more logins; None for a user outside the board. 1 round trip."""

    def ask(pipe: RedisPipeline) -> None:
        pipe.execute_command("EVAL", BOARD_SCRIPT.text, 1, keys.login_times(), "first", 0, 0, 0, user_id, 0)

    reading = read(["user"], ask)
    if reading is None:
        return leaderboard_sql.find_rank(user_id)
    _total, _page, around = reading.replies[0]
    mine = _parse_slice(around)
    return mine.rank if mine.places else None


def read_leaderboard(me: int | None = None, at: str = "", last: int = DEFAULT_LAST_LOGINS) -> Leaderboard:
    """Return a page of the leaderboard for the viewer ``me`` (None: anonymous), with 1 to 100 (``last``) last logins.

    at: the cursor from a URL; an invalid one gives the first page. 2 round trips and no SQL while the mirrors are warm.
    """
    last = max(1, min(last, MAX_LAST_LOGINS))
    return _read_leaderboard_from_redis(me, at, last) or leaderboard_sql.read_leaderboard(me, at, last)


def read_last_logins(limit: int = 5, me: int | None = None) -> list[LastLogin]:
    """Return the last logins, newest first, without users hidden from the viewer ``me`` (None: anonymous).

    While the mirrors are warm: 2 round trips, and none if the page foresees them (``mirror.read.foreseen``).
    """
    reading = read(["user", "last_logins"], lambda pipe: pipe.lrange(keys.last_login_times(), 0, limit - 1))
    newest = [int(pk) for pk in reading.replies[0]] if reading else []
    people = _read_users(newest, me) if reading else None
    if people is None:
        return leaderboard_sql.read_last_logins(limit, me)
    return [people[pk] for pk in newest if pk in people]


def _read_leaderboard_from_redis(me: int | None, at: str, last: int) -> Leaderboard | None:
    """Return the page from Redis. None: a mirror is cold, Redis is away, or a user left between the round trips."""
    cursor = parse_cursor(at)

    def ask(pipe: RedisPipeline) -> None:
        arguments = [cursor.kind, *cursor.place, PAGE_SIZE, "" if me is None else me, NEIGHBOURS_PER_SIDE]
        # EVAL, not EVALSHA: a pipeline cannot retry if Redis does not have the script.
        pipe.execute_command("EVAL", BOARD_SCRIPT.text, 1, keys.login_times(), *arguments)
        pipe.lrange(keys.last_login_times(), 0, last - 1)

    reading = read(["user", "last_logins"], ask)
    if reading is None:
        return None
    (total, page, around), ids = reading.replies
    found = BoardPlaces(total, _parse_slice(page), _parse_slice(around))
    newest = [int(pk) for pk in ids]
    people = _read_users([*(place.id for place in (*found.page.places, *found.around.places)), *newest], me)
    if people is None:
        return None
    names = {pk: person.name for pk, person in people.items()}
    return Leaderboard(me, at, found, names, [people[pk] for pk in newest if pk in people], last)


def _parse_slice(reply: Any) -> Slice:
    start, rank, flat = reply
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return Slice(start, rank, [Place(int(times), int(pk)) for pk, times in pairs])


USER_FIELDS = ("name", "last_login_time", "is_active")


def _read_users(pks: Sequence[int], me: int | None) -> dict[int, LastLogin] | None:
    """Return these users by id, without hidden ones, with one round trip.

    None: one was deleted or is inactive, or Redis does not answer.
    """
    wanted = list(dict.fromkeys(pks))
    if not wanted:
        return {}

    def ask(pipe: RedisPipeline) -> None:
        for pk in wanted:
            pipe.hmget(keys.login(pk), USER_FIELDS)
        hiding.add_commands(pipe, me, wanted)

    reading = read(["user", *hiding.list_mirrors(me)], ask)
    records = reading.replies[: len(wanted)] if reading else []
    if reading is None or any(is_active != b"1" for _, _, is_active in records):
        return None
    hidden = hiding.parse_hidden_ids(me, wanted, reading.replies[len(wanted) :])
    return {
        pk: LastLogin(pk, name.decode(), time.decode())
        for pk, (name, time, _) in zip(wanted, records, strict=True)
        if pk not in hidden
    }


def count_new_users(since: datetime) -> dict[date, int]:
    """Return the numbers of users who joined since that moment, by day in the site's time zone."""
    rows = User.objects.filter(date_joined__gte=since).order_by().values_list(TruncDate("date_joined"))
    return dict(rows.annotate(Count("pk")))
