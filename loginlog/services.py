"""Marking logins, removing one, and erasing who wants to be forgotten."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any, Final

from accounts.models import User
from loginlog import direct, erasure, numbers, scripts, unmarking
from loginlog.days import day_of, today
from loginlog.direct import Mark
from mirror.redis import RedisError, breaker, client, is_away, relay_client

logger = logging.getLogger("loginlog")

TRIES: Final = 3
CHUNK: Final = 5000  # logins of an import that are sent together
AT_ONCE: Final = 50  # of one day and type, in one call of the script: half a millisecond
Login = tuple[int, str, date]  # user id, the type at that time, the day
Reply = tuple[Mark, int]


def mark(user: User, at: date | datetime | None = None) -> bool:
    """Note that a user was here at a moment (default: now), as a user of the type they have now.

    Returns False if that was known already: then nothing is changed. One round trip, and another with a query while
    Redis is not restored; a user's first login makes a row in SQL too. While Redis is away the login goes straight
    to SQL. Call it after the commit of whatever makes it true. Raises ValueError for a datetime without a time zone.
    """
    return mark_as(user.pk, user.user_type, today() if at is None else day_of(at))


def mark_as(user_id: int, user_type: str, day: date) -> bool:
    """As ``mark``, for a user's id and a type that the user may have no more."""
    for _ in range(TRIES):
        number, clean = numbers.of(user_id)
        login = Mark(user_id, number, user_type, day)
        if not clean or breaker.open():
            break
        try:
            ((_, done),) = _run(client(), [login])
        except RedisError as error:
            _say(error)
            break
        if done >= 0:
            return done == scripts.NEW
        if done == scripts.REMOVED:
            break
        numbers.known.forget(user_id)  # erased by another process
    _write_to_sql([login])
    return True


def mark_many(logins: Iterable[Login]) -> int:
    """Mark many logins, such as another site's. Returns how many were not known before.

    Users have to exist. Thousands go in one round trip; while Redis is away they go straight to SQL.
    """
    new, left = 0, iter(logins)
    while part := list(islice(left, CHUNK)):
        found, unclean = numbers.of_many({user for user, _, _ in part})
        marks = [Mark(user, found[user], kind, day) for user, kind, day in part]
        new += _send([mark for mark in marks if mark.user_id not in unclean])
        if unclean:
            late = [mark for mark in marks if mark.user_id in unclean]
            _write_to_sql(late)
            new += len(late)
    return new


def _send(marks: Sequence[Mark]) -> int:
    """One round trip for all of these (and one that makes the script known). Returns how many were new."""
    if not marks:
        return 0
    try:
        replies = _run(relay_client(), marks)
    except RedisError as error:
        _say(error)
        _write_to_sql(marks)
        return len(marks)
    gone = [mark for mark, reply in replies if reply == scripts.ERASED]
    for mark in gone:  # erased since their numbers were looked up: who still exists gets another
        numbers.known.forget(mark.user_id)
        if User.objects.filter(pk=mark.user_id).exists():
            mark_as(mark.user_id, mark.user_type, mark.day)
    if removed := [mark for mark, reply in replies if reply == scripts.REMOVED]:
        _write_to_sql(removed)
    return sum(reply == scripts.NEW for _, reply in replies) + len(gone) + len(removed)


def _run(redis: Any, marks: Sequence[Mark]) -> list[Reply]:
    """Mark these logins in Redis; SQL is asked for the removals that Redis knows of or may have lost.

    Returns what Redis says of each, in any order. A login that still is removed was removed again meanwhile.
    """
    replies = _ask(redis, marks)
    if removed := [mark for mark, reply in replies if reply == scripts.REMOVED]:
        others = [(mark, reply) for mark, reply in replies if reply != scripts.REMOVED]
        return others + _ask(redis, removed, unmarking.lift(removed))
    return replies


def _ask(redis: Any, marks: Sequence[Mark], lifted: unmarking.Removals | None = None) -> list[Reply]:
    groups = _grouped(marks)
    logins = [mark for group in groups for mark in group]
    return list(zip(logins, scripts.run_marks(redis, groups, lifted), strict=True))


def _write_to_sql(marks: Sequence[Mark]) -> None:
    """Mark past Redis."""
    unmarking.lift(marks)
    direct.write(marks)


def _grouped(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Marks of one day and type together, a few at a time."""
    found: dict[tuple[str, date], list[Mark]] = defaultdict(list)
    for mark in marks:
        found[mark.user_type, mark.day].append(mark)
    return [group[at : at + AT_ONCE] for group in found.values() for at in range(0, len(group), AT_ONCE)]


def _say(error: RedisError) -> None:
    if is_away(error):
        breaker.failed()
    logger.warning("Redis did not answer, logins go to SQL: %s", error)


def erase(user: User) -> bool:
    """Erase a user from the login log: every bit, in SQL and Redis, for good. Returns whether there was anything."""
    return erasure.erase(user.pk)


def unmark(user: User, day: date) -> bool | None:
    """Remove a user's login of a day. Returns whether there was one; None: Redis is away, and SQL has none."""
    return unmarking.unmark(user.pk, day)
