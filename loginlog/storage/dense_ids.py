"""Dense ids of users in the day bitmaps. SQL assigns them, and each process caches them."""

from collections.abc import Collection
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from loginlog.models import Erased, Number
from mirror.utils import Bounded

MAX_CACHED: Final = 100_000  # users in the cache of a process
USERS_PER_STATEMENT: Final = 500  # users per statement

dense_id_cache: Final = Bounded[int, int](MAX_CACHED)


def get_dense_id(user_id: int) -> tuple[int, bool]:
    """Return a user's dense id, created if missing, and whether Redis is clean for the user.

    Redis is not clean while it has bits of an erased dense id of the same user. Until then no bit of this user may be
    written to Redis, because it would be cleared together with them.
    """
    number = dense_id_cache.get(user_id)
    if number is not None:
        dense_id_cache.put(user_id, number)  # drop users that were not seen for long
        return number, True
    row, made = Number.objects.get_or_create(user_id=user_id)
    clean = not Erased.objects.filter(user_pk=user_id).exists()
    if clean and not (made and transaction.get_connection().in_atomic_block):  # a rollback could remove it
        dense_id_cache.put(user_id, row.pk)
    return row.pk, clean


def get_dense_ids(user_ids: Collection[int]) -> tuple[dict[int, int], set[int]]:
    """Return dense ids by user id, created if missing, and the users for which Redis is not clean. For imports."""
    found = {user: number for user in user_ids if (number := dense_id_cache.get(user)) is not None}
    wanted = set(user_ids) - found.keys()
    asked = _find_dense_ids(wanted)
    missing = sorted(wanted - asked.keys())
    if missing:
        Number.objects.bulk_create(
            [Number(user_id=user) for user in missing], USERS_PER_STATEMENT, ignore_conflicts=True
        )
        asked |= _find_dense_ids(missing)
    fresh = {user: number for user, (number, clean) in asked.items() if clean}
    if not transaction.get_connection().in_atomic_block:
        for user, number in fresh.items():
            dense_id_cache.put(user, number)
    return found | {user: number for user, (number, _) in asked.items()}, asked.keys() - fresh.keys()


def _find_dense_ids(user_ids: Collection[int]) -> dict[int, tuple[int, bool]]:
    """Return existing dense ids by user id, each with whether Redis is clean for the user."""
    left = Erased.objects.filter(user_pk=OuterRef("user_id"))
    asked, found = sorted(user_ids), {}
    for at in range(0, len(asked), USERS_PER_STATEMENT):
        rows = Number.objects.filter(user_id__in=asked[at : at + USERS_PER_STATEMENT]).annotate(soiled=Exists(left))
        for user, number, soiled in rows.values_list("user_id", "pk", "soiled"):
            found[user] = number, not soiled
    return found
