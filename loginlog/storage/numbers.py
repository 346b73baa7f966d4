"""Dense ids: the positions of users in the bitmaps of days. SQL gives them out, and never changes or reuses one."""

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from django.db import connections
from django.db.models import Exists, OuterRef

from accounts.models import User
from common.ids import MAX_ID
from loginlog.models import Number
from mirror.conf import database, setting
from mirror.utils import Bounded, arrays

MAX_CACHED: Final = 100_000  # users in the cache of a process
USERS_PER_STATEMENT: Final = 1000  # users per statement
number_cache: Final = Bounded[int, int](MAX_CACHED)  # dense ids by user id


class _Asked(threading.local):
    """The users that ``prepare`` looked up last in this thread."""

    users: frozenset[int] = frozenset()


_asked: Final = _Asked()

# On PostgreSQL a number is lost if another transaction adds the same user at this moment, which is rare.
_ADD = """
    INSERT INTO loginlog_number (user_id)
    SELECT u.id FROM accounts_user u LEFT JOIN loginlog_number n ON n.user_id = u.id
     WHERE u.id {match} AND n.id IS NULL ORDER BY u.id
    ON CONFLICT (user_id) DO NOTHING
"""


def add_missing(user_ids: Iterable[int]) -> None:
    """Give a dense id to each of these users that exists and has none."""
    match, parameters = arrays.match_any(sorted(set(user_ids)))
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(_ADD.format(match=match), parameters)


def list_deleted_users() -> list[int]:
    """Return the ids of deleted users that still have a dense id."""
    rows = Number.objects.using(setting("DATABASE")).filter(user_id__isnull=False)
    return list(rows.filter(~Exists(User.objects.filter(pk=OuterRef("user_id")))).values_list("user_id", flat=True))


def forget_users(user_ids: list[int]) -> None:
    """Remove the ids of deleted users from their dense ids, which stay unused."""
    for at in range(0, len(user_ids), USERS_PER_STATEMENT):
        part = user_ids[at : at + USERS_PER_STATEMENT]
        Number.objects.using(setting("DATABASE")).filter(user_id__in=part).update(user=None)


def prepare(user_ids: Iterable[int]) -> None:
    """Look up these users, also deleted ones, for the following calls of ``get_number`` in this thread. One query."""
    # Also users without a dense id are remembered, so that ``get_number`` does not ask for each of them again.
    _asked.users = frozenset(user_ids)
    # PostgreSQL refuses a number above the largest id, which a key of another program may name.
    wanted = [user_id for user_id in _asked.users if number_cache.get(user_id) is None and user_id <= MAX_ID]
    for at in range(0, len(wanted), USERS_PER_STATEMENT):
        rows = Number.objects.using(database()).filter(user_id__in=wanted[at : at + USERS_PER_STATEMENT])
        for user_id, number in rows.values_list("user_id", "pk"):
            remember(user_id, number)


def get_number(user_id: int) -> int | None:
    """Return the dense id of a user, also of a deleted one, or None. Without a query after ``prepare``."""
    if user_id not in _asked.users and number_cache.get(user_id) is None:
        prepare([user_id])
    return number_cache.get(user_id)


def find_users(numbers: Sequence[int]) -> dict[int, int]:
    """Return the ids of users, also of deleted ones, by dense id. Unknown dense ids are left out."""
    found: dict[int, int] = {}
    for at in range(0, len(numbers), USERS_PER_STATEMENT):
        part = numbers[at : at + USERS_PER_STATEMENT]
        rows = Number.objects.using(database()).filter(pk__in=part, user_id__isnull=False)
        found.update(rows.values_list("pk", "user_id"))
    return found


# A cached dense id never becomes wrong: SQL never changes one, and never gives one to another user.
def remember(user_id: int, number: int) -> None:
    """Keep a dense id that SQL has, for the look-ups of this process."""
    number_cache.put(user_id, number)
