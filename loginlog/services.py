"""Services that mark logins, remove a login and erase a user."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Final

from accounts.models import User
from loginlog.corrections import erasure, removal
from loginlog.days import day_of, today
from loginlog.storage import dense_ids, direct, scripts
from loginlog.storage.direct import Mark
from mirror.redis import RedisClient, relay_client, try_redis

logger = logging.getLogger("loginlog")

MAX_TRIES: Final = 3
LOGINS_PER_ROUND_TRIP: Final = 5000  # logins of an import per round trip
LOGINS_PER_CALL: Final = 50  # logins of one day and type per call of the script, which takes half a millisecond
Login = tuple[int, str, date]  # user id, the type at that time, the day
Reply = tuple[Mark, int]


def mark_login(user: User, at: date | datetime | None = None) -> bool:
    """Mark a login at a point in time (default: now), with the user's current type.

    Return False if the mark already exists. Takes one round trip, and another one with a query while Redis is not
    restored. A user's first login also creates a row in SQL. While Redis is away, the login goes straight to SQL. Call
    it after the commit of the login's transaction. Raises ValueError for a datetime without a time zone.
    """
    return mark_login_as(user.pk, user.user_type, today() if at is None else day_of(at))


def mark_login_as(user_id: int, user_type: str, day: date) -> bool:
    """Mark a login as ``mark`` does, for a user's id and a type that may have changed since."""
    for _ in range(MAX_TRIES):
        number, clean = dense_ids.get_dense_id(user_id)
        login = Mark(user_id, number, user_type, day)
        replies = _try_redis([login]) if clean else None
        if replies is None or replies[0][1] == scripts.REMOVED:
            break
        if replies[0][1] >= 0:
            return replies[0][1] == scripts.NEW
        dense_ids.dense_id_cache.forget(user_id)  # erased by another process
    _write_to_sql([login])
    return True


def mark_logins(logins: Iterable[Login]) -> int:
    """Mark many logins, such as those of another site. Return the number of new ones.

    The users must exist. Thousands of logins take one round trip; while Redis is away, they go straight to SQL.
    """
    new, left = 0, iter(logins)
    while part := list(islice(left, LOGINS_PER_ROUND_TRIP)):
        found, unclean = dense_ids.get_dense_ids({user for user, _, _ in part})
        marks = [Mark(user, found[user], kind, day) for user, kind, day in part]
        new += _send_marks([mark for mark in marks if mark.user_id not in unclean])
        if unclean:
            late = [mark for mark in marks if mark.user_id in unclean]
            _write_to_sql(late)
            new += len(late)
    return new


def _send_marks(marks: Sequence[Mark]) -> int:
    """Mark these logins in one round trip, and one that loads the script. Return the number of new ones."""
    if not marks:
        return 0
    replies = _try_redis(marks, relay_client())
    if replies is None:
        _write_to_sql(marks)
        return len(marks)
    gone = [mark for mark, reply in replies if reply == scripts.ERASED]
    for mark in gone:  # erased since the look-up of their dense ids; existing users get a new one
        dense_ids.dense_id_cache.forget(mark.user_id)
        if User.objects.filter(pk=mark.user_id).exists():
            mark_login_as(mark.user_id, mark.user_type, mark.day)
    if removed := [mark for mark, reply in replies if reply == scripts.REMOVED]:
        _write_to_sql(removed)
    return sum(reply == scripts.NEW for _, reply in replies) + len(gone) + len(removed)


def _try_redis(marks: Sequence[Mark], redis: RedisClient | None = None) -> list[Reply] | None:
    """Mark these logins in Redis, with this client or that of requests. Return None while Redis is away."""
    warning = "Redis did not answer, logins go to SQL: %s"
    return try_redis(lambda used: _mark_in_redis(used, marks), lambda: None, logger, warning, redis=redis)


def _mark_in_redis(redis: RedisClient, marks: Sequence[Mark]) -> list[Reply]:
    """Mark these logins in Redis. Return the reply for each, in any order.

    SQL is asked about removals that Redis knows or may have lost. A reply of REMOVED then means that the login was
    removed again meanwhile.
    """
    replies = _run_script(redis, marks)
    if removed := [mark for mark, reply in replies if reply == scripts.REMOVED]:
        others = [(mark, reply) for mark, reply in replies if reply != scripts.REMOVED]
        return others + _run_script(redis, removed, removal.lift_removals(removed))
    return replies


def _run_script(redis: RedisClient, marks: Sequence[Mark], lifted: removal.Removals | None = None) -> list[Reply]:
    groups = _group_marks(marks)
    logins = [mark for group in groups for mark in group]
    return list(zip(logins, scripts.run_mark_script(redis, groups, lifted), strict=True))


def _write_to_sql(marks: Sequence[Mark]) -> None:
    """Mark these logins in SQL without Redis."""
    removal.lift_removals(marks)
    direct.write_marks(marks)


def _group_marks(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Group marks by day and type, at most ``LOGINS_PER_CALL`` per group."""
    found: dict[tuple[str, date], list[Mark]] = defaultdict(list)
    for mark in marks:
        found[mark.user_type, mark.day].append(mark)
    return [
        group[at : at + LOGINS_PER_CALL] for group in found.values() for at in range(0, len(group), LOGINS_PER_CALL)
    ]


def erase_user(user: User) -> bool:
    """Erase every bit of a user in SQL and Redis for good. Return whether the log had the user."""
    return erasure.erase_user(user.pk)


def remove_login(user: User, day: date) -> bool | None:
    """Remove a user's login of a day. Return whether it existed; None if SQL has none and Redis is away."""
    return removal.remove_login(user.pk, day)
