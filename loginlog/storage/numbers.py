"""Dense ids: the positions of users in the bitmaps of days. SQL gives them out, and never changes or reuses one."""

from collections.abc import Iterable
from typing import Final

from django.db import connections
from django.db.models import Exists, OuterRef

from accounts.models import User
from loginlog.models import Number
from mirror.conf import database, setting
from mirror.utils import Bounded, arrays

MAX_CACHED: Final = 100_000  # users in the caches of a process
USERS_PER_BLOCK: Final = 1000  # users per query
number_cache: Final = Bounded[int, int](MAX_CACHED)  # dense ids by user id
user_cache: Final = Bounded[int, int](MAX_CACHED)  # user ids by dense id

# On PostgreSQL a number is lost if another transaction adds the same user at this moment, which is rare.
_ADD = """
    INSERT INTO loginlog_number (user_id)
    SELECT u.id FROM accounts_user u LEFT JOIN loginlog_number n ON n.user_id = u.id
     WHERE u.id {match} AND n.id IS NULL ORDER BY u.id
    ON CONFLICT (user_id) DO NOTHING
"""
_COUNT_MISSING = """
    SELECT COUNT(*) FROM accounts_user u LEFT JOIN loginlog_number n ON n.user_id = u.id
     WHERE u.id {match} AND n.id IS NULL
"""


def add_missing(user_ids: Iterable[int]) -> bool:
    """Give a dense id to each of these users that exists and has none. Return whether any had none."""
    match, parameters = arrays.match_any(sorted(set(user_ids)))
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(_COUNT_MISSING.format(match=match), parameters)
        if not cursor.fetchone()[0]:
            return False
        cursor.execute(_ADD.format(match=match), parameters)
    return True


def list_deleted_users() -> list[int]:
    """Return the ids of deleted users that still have a dense id."""
    rows = Number.objects.using(setting("DATABASE")).filter(user_id__isnull=False)
    return list(rows.filter(~Exists(User.objects.filter(pk=OuterRef("user_id")))).values_list("user_id", flat=True))


def forget_users(user_ids: list[int]) -> None:
    """Remove the ids of deleted users from their dense ids, which stay unused."""
    for at in range(0, len(user_ids), USERS_PER_BLOCK):
        part = user_ids[at : at + USERS_PER_BLOCK]
        Number.objects.using(setting("DATABASE")).filter(user_id__in=part).update(user=None)


def get_number(user_id: int) -> int | None:
    """Return the dense id of a user, also of a deleted one, or None. Mostly without a query."""
    number = number_cache.get(user_id)
    if number is None:
        _load_block("user_id", user_id)
        number = number_cache.get(user_id)
    return number


def get_user(number: int) -> int | None:
    """Return the id of the user with a dense id, also of a deleted one, or None. Mostly without a query."""
    user_id = user_cache.get(number)
    if user_id is None:
        _load_block("pk", number)
        user_id = user_cache.get(number)
    return user_id


def remember(user_id: int, number: int) -> None:
    """Keep a dense id that SQL has, for the look-ups of this process."""
    number_cache.put(user_id, number)
    user_cache.put(number, user_id)


def _load_block(column: str, value: int) -> None:
    """Remember the users near this one, because the mirror asks for rows and bits in their order."""
    first = value // USERS_PER_BLOCK * USERS_PER_BLOCK
    rows = Number.objects.using(database()).filter(
        **{f"{column}__gte": first, f"{column}__lt": first + USERS_PER_BLOCK}, user_id__isnull=False
    )
    for user_id, number in rows.values_list("user_id", "pk"):
        remember(user_id, number)
