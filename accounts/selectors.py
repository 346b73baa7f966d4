"""Read users and the leaderboard."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import TruncDate

import mirror
from accounts import keys
from accounts.leaderboard import sql as leaderboard_sql
from accounts.leaderboard.page import (
    DEFAULT_LAST_LOGINS,
    MAX_LAST_LOGINS,
    NEIGHBOURS_PER_SIDE,
    PAGE_SIZE,
    BoardPlaces,
    Cursor,
    LastLogin,
    Leaderboard,
    Person,
    Place,
    Slice,
    parse_cursor,
)
from accounts.mirrors.users import LastLoginsMirror, UserMirror
from accounts.models import FormerName, User
from accounts.users import hiding
from common import clock
from common.text import fold
from mirror import Question, Record
from mirror.redis import RedisPipeline, Script
from mirror.utils import SQL_AWAY

BOARD_SCRIPT = Script(Path(__file__).parent / "lua" / "leaderboard.lua")


def find_user_id(name: str) -> int | None:
    """Return the id of the user with this name, in any case and width; None if no user has it. 1 round trip."""
    folded = fold(name)
    if not folded.isprintable():  # the databases do not accept every character of a URL
        return None
    found: int | None = UserMirror.find(keys.login_id(folded))
    return found


def find_user_by_former_name(name: str) -> int | None:
    """Return the id of the user with this former name; None also while SQL is away. 1 query."""
    key = fold(name)
    if not key.isprintable():  # the databases do not accept every character of a URL
        return None
    # Not the present name in another spelling: a redirect would lead to itself.
    kept = FormerName.objects.filter(name_key=key, reserved_until__gt=clock.now()).exclude(user__name_key=F("name_key"))
    try:
        found: int | None = kept.values_list("user_id", flat=True).first()
    except SQL_AWAY:
        return None
    return found


def find_rank(user_id: int) -> int | None:
    """Return 1 plus the number of users with more logins; None for a user outside the board. 1 round trip."""
    return UserMirror.rank(keys.login_times(), user_id)


def read_leaderboard(
    me: int | None = None, at: str = "", last: int = DEFAULT_LAST_LOGINS, *, is_whole: bool = False
) -> Leaderboard:
    """Return a page of the leaderboard for the viewer ``me`` (None: anonymous), with 1 to 100 (``last``) last logins.

    at: the cursor from a URL; an invalid one gives the first page. is_whole: for staff, with the users who do not show
    their logins. A viewer who does not show them sees the own rank among all. 2 round trips.
    """
    last, cursor = max(1, min(last, MAX_LAST_LOGINS)), parse_cursor(at)
    with mirror.together() as reads:
        places = reads(_find_places, me, cursor, is_whole)
        newest = reads(_find_last_ids, last, is_whole)
        rank = reads(_find_own_rank, me)
    board = places.value
    on_board = [place.id for place in (*board.page.places, *board.around.places)]
    records = _find_records([*on_board, *newest.value, *([] if me is None else [me])], me)
    shown = {pk: record for pk, record in records.items() if is_whole or record["shows_logins"] == "1"}
    people = _name_people(shown)
    names = {pk: person.name for pk, person in people.items()}
    own = None
    if me in records and rank.value is not None:
        own = Person(rank.value, me, records[me]["name"], int(records[me]["login_times"]))
    newest_people = [people[pk] for pk in newest.value if pk in people]
    pictures = {pk: record["avatar"] for pk, record in shown.items()}
    return Leaderboard(me, at, board, names, newest_people, pictures, last, own)


def _find_own_rank(me: int | None) -> int | None:
    return None if me is None else find_rank(me)


def _find_places(me: int | None, cursor: Cursor, is_whole: bool) -> BoardPlaces:
    """Return the places of a page, and those around the viewer."""

    key = keys.login_times() if is_whole else keys.shown_login_times()

    def ask(pipe: RedisPipeline) -> None:
        arguments = [cursor.kind, *cursor.place, PAGE_SIZE, "" if me is None else me, NEIGHBOURS_PER_SIDE]
        # EVAL, not EVALSHA: a pipeline cannot retry if Redis does not have the script.
        pipe.execute_command("EVAL", BOARD_SCRIPT.text, 1, key, *arguments)

    def decode(replies: list[Any]) -> BoardPlaces:
        total, page, around = replies[0]
        return BoardPlaces(total, _parse_slice(page), _parse_slice(around))

    # No reader: a page also needs its first rank, and a page before a place ends there.
    return mirror.answer(
        Question(["user"], ask, decode, lambda: leaderboard_sql.find_places(me, cursor, is_whole=is_whole))
    )


def _parse_slice(reply: Any) -> Slice:
    start, rank, flat = reply
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return Slice(start, rank, [Place(int(times), int(pk)) for pk, times in pairs])


def _find_last_ids(limit: int, is_whole: bool) -> list[int]:
    if not is_whole:
        return UserMirror.top(keys.shown_last_logins(), limit)
    ids: Any = LastLoginsMirror.get("") or ()
    return [int(pk) for pk in ids[:limit]]


def _find_records(pks: Sequence[int], me: int | None) -> dict[int, Record]:
    """Return these users by id, in one round trip, without hidden ones and those that left after the first read."""
    wanted = list(dict.fromkeys(pks))
    with mirror.together() as reads:
        records = reads(UserMirror.get_many, wanted)
        hidden = reads(hiding.find_hidden_ids, me, wanted)
    return {pk: record for pk, record in records.value.items() if record["is_active"] == "1" and pk not in hidden.value}


def _name_people(records: Mapping[int, Record]) -> dict[int, LastLogin]:
    return {pk: LastLogin(pk, record["name"], record["last_login_time"]) for pk, record in records.items()}


def count_new_users(since: datetime) -> dict[date, int]:
    """Return the numbers of users who joined since that moment, by day in the site's time zone."""
    rows = User.objects.filter(date_joined__gte=since).order_by().values_list(TruncDate("date_joined"))
    return dict(rows.annotate(Count("pk")))
