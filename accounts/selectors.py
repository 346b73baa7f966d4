"""Reading people: from Redis or, with the same answer, from SQL."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accounts import hiding, keys, leaderboard_sql
from accounts.leaderboard import BESIDE, LAST, MOST_LAST, PAGE, Found, LastLogin, Leaderboard, Place, Slice, read_cursor
from accounts.models import User
from accounts.names import fold
from mirror.conf import setting
from mirror.read import read
from mirror.scripts import Script

BOARD = Script(Path(__file__).parent / "lua" / "leaderboard.lua")


def user_id_of(name: str) -> int | None:
    """The id of who has this name, in whatever case and width it is written; None: nobody. 1 round trip."""
    folded = fold(name)
    if not folded.isprintable():  # neither database takes all that could stand in an address
        return None
    reading = read(["user"], lambda pipe: pipe.get(keys.login_id(folded)))
    if reading is None:
        found = User._base_manager.using(setting("DATABASE")).filter(name_key=folded)
        return found.values_list("pk", flat=True).first()
    return None if reading.replies[0] is None else int(reading.replies[0])


def rank_of(user_id: int) -> int | None:
    """1 + how many have logged in more often; None: not on the board. 1 round trip."""

    def ask(pipe: Any) -> None:
        pipe.execute_command("EVAL", BOARD.text, 1, keys.login_times(), "first", 0, 0, 0, user_id, 0)

    reading = read(["user"], ask)
    if reading is None:
        return leaderboard_sql.rank_of(user_id)
    _, _, (_, rank, mine) = reading.replies[0]
    return rank if mine else None


def leaderboard(me: int | None = None, at: str = "", last: int = LAST) -> Leaderboard:
    """A page of who logs in most often, as user ``me`` (None: a stranger) sees it; the ``last`` to log in (1 to 100).

    ``at``: an address' cursor; what is none of ours is the first page. From a warm mirror: 2 round trips, no SQL.
    """
    last = max(1, min(last, MOST_LAST))
    return _from_redis(me, at, last) or leaderboard_sql.leaderboard(me, at, last)


_expected: list[int] = []  # whom the list of the last logins named when this process read it last


def last_logins(limit: int = 5, me: int | None = None) -> list[LastLogin]:
    """The last people to log in, newest first, for a box beside other things, as user ``me`` (None: a stranger) sees
    it: without those who are hidden from them.

    From a warm mirror: 1 round trip while the list names whom it named before (their records are asked for in
    the same one, on the chance), one more when somebody came in since.
    """
    global _expected
    expected = _expected

    def ask(pipe: Any) -> None:
        pipe.lrange(keys.last_login_times(), 0, limit - 1)
        _ask_people(pipe, expected, me)

    reading = read(["user", "last_logins", *hiding.mirrors(me)], ask)
    if reading is None:
        return leaderboard_sql.last_logins(limit, me)
    ids, *replies = reading.replies
    newest = _expected = [int(pk) for pk in ids]
    people = _read_people(expected, replies, me, newest), _people([pk for pk in newest if pk not in expected], me)
    if people[0] is None or people[1] is None:
        return leaderboard_sql.last_logins(limit, me)
    found = people[0] | people[1]
    return [found[pk] for pk in newest if pk in found]


def _from_redis(me: int | None, at: str, last: int) -> Leaderboard | None:
    """None if a mirror is cold, or away, or somebody went between the two round trips."""
    cursor = read_cursor(at)

    def ask(pipe: Any) -> None:
        arguments = [cursor.kind, *cursor.place, PAGE, "" if me is None else me, BESIDE]
        # Whole, and not by its digest: a pipeline cannot try again when Redis has forgotten the script.
        pipe.execute_command("EVAL", BOARD.text, 1, keys.login_times(), *arguments)
        pipe.lrange(keys.last_login_times(), 0, last - 1)

    reading = read(["user", "last_logins"], ask)
    if reading is None:
        return None
    (total, page, around), ids = reading.replies
    found = Found(total, _slice(page), _slice(around))
    newest = [int(pk) for pk in ids]
    people = _people([*(place.id for place in (*found.page.places, *found.around.places)), *newest], me)
    if people is None:
        return None
    names = {pk: person.name for pk, person in people.items()}
    return Leaderboard(me, at, found, names, [people[pk] for pk in newest if pk in people], last)


def _slice(reply: Any) -> Slice:
    start, rank, flat = reply
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return Slice(start, rank, [Place(int(times), int(pk)) for pk, times in pairs])


FIELDS = ("name", "last_login_time", "is_active")


def _ask_people(pipe: Any, pks: Sequence[int], me: int | None) -> None:
    for pk in pks:
        pipe.hmget(keys.login(pk), FIELDS)
    hiding.ask(pipe, me, pks)


def _read_people(
    pks: Sequence[int], replies: Sequence[Any], me: int | None, wanted: Sequence[int]
) -> dict[int, LastLogin] | None:
    """Who these are, as far as they are wanted and not hidden; None if one of them went, or is no longer active."""
    hidden = hiding.found(me, pks, replies[len(pks) :])
    records = {pk: record for pk, record in zip(pks, replies, strict=False) if pk in wanted}
    if any(is_active != b"1" for _, _, is_active in records.values()):
        return None
    return {
        pk: LastLogin(pk, name.decode(), time.decode()) for pk, (name, time, _) in records.items() if pk not in hidden
    }


def _people(pks: Sequence[int], me: int | None) -> dict[int, LastLogin] | None:
    """Who these are, in one round trip (none for nobody); None as ``_read_people``, or if Redis does not answer."""
    wanted = list(dict.fromkeys(pks))
    if not wanted:
        return {}
    reading = read(["user", *hiding.mirrors(me)], lambda pipe: _ask_people(pipe, wanted, me))
    return None if reading is None else _read_people(wanted, reading.replies, me, wanted)
