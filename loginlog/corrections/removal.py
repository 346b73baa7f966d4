"""Removal of a login that was marked by mistake, in SQL and Redis, until a later mark lifts the removal.

Merges only add bits. So a removal leaves a row (``Unmarked``) that keeps out copies of the bit from late flushes, log
files and an older Redis. Redis has the removals in a hash, for the script that marks. A mark lifts a removal in SQL
first, then in Redis. The row stays, so that a late cleanup sees the lift.
"""

import logging
from collections.abc import Collection, Iterable
from datetime import date
from typing import Final

from django.db import transaction
from django.db.models import F

from accounts.models import User
from common.database import repeat_after_conflict
from loginlog import days, keys, selectors
from loginlog.corrections.erasure import clear_day_bits
from loginlog.models import DayBits, MonthBits, Number, Unmarked
from loginlog.storage import bitmaps, scripts, tombstones
from loginlog.storage import sql as store
from loginlog.storage.direct import Mark
from loginlog.storage.items import Item
from mirror.redis import RedisClient, breaker, try_redis
from mirror.utils import after_commit

logger = logging.getLogger("loginlog")

IDS_PER_STATEMENT: Final = 500  # dense ids per statement
Removals = dict[tuple[int, date], int]  # ids of removals by dense id and day


@repeat_after_conflict
def remove_login(user_id: int, day: date) -> bool | None:
    """Remove a user's login of a day, of every type. Return whether it existed.

    Return None if SQL has no login and Redis is away; a login in Redis is then removed later. SQL is clean when this
    returns (or when the surrounding transaction commits). Redis follows right after that, or in
    ``settling.settle_redis``.
    """
    has_login = selectors.has_logged_in_on(user_id, day) or _is_in_sql(user_id, day)
    if not has_login and not breaker.open():
        return False
    with transaction.atomic():
        # no_key: as in ``erasure.erase``.
        number = Number.objects.select_for_update(no_key=True).filter(user_id=user_id).first()
        if number is None:
            return False
        Unmarked.objects.filter(number=number, day=day).delete()
        removal = Unmarked.objects.create(number=number, day=day)  # blocks merges (``sql.merge_bitmaps``)
        rest = tombstones.ALL_BITS & ~bitmaps.bit_of_day(day)
        MonthBits.objects.filter(number=number, month=days.month_of(day)).update(bits=F("bits").bitand(rest))
        clear_day_bits(number.pk, DayBits.objects.filter(day=day))
        after_commit(_clean_now, removal)
    return has_login or None


def _is_in_sql(user_id: int, day: date) -> bool:
    bits = (bits for _, bits in store.read_months_of_user(user_id, days.month_of(day), day))
    return any(found & bitmaps.bit_of_day(day) for found in bits)


def _clean_now(removal: Unmarked) -> None:
    try_redis(
        lambda redis: apply_removals(redis, [removal]),
        lambda: None,
        logger,
        "Redis did not answer, the removed login waits there: %s",
    )


def apply_missed_removals(redis: RedisClient) -> None:
    """Apply the removals to Redis that it missed. Raises redis-py's errors."""
    apply_removals(redis, Unmarked.objects.in_force().filter(is_in_redis=False).select_related("number"))


def apply_removals_of(redis: RedisClient, items: Collection[Item]) -> None:
    """Apply the removals that concern these items to Redis, because recently written bits may be older."""
    apply_removals(redis, tombstones.find_removals(items))


def apply_removals(redis: RedisClient, removals: Iterable[Unmarked]) -> None:
    """Apply these removals to Redis. Repeated and concurrent calls are safe. Raises redis-py's errors."""
    for removal in removals:
        user_id = removal.number.user_id
        if user_id is None:  # erased
            continue
        bitmaps_of_day = [
            name
            for kind in User.Type.values
            for name in (keys.month(removal.day, kind, user_id), keys.day(removal.day, kind))
        ]
        signed = -removal.pk if removal.is_lifted else removal.pk
        arguments = [_build_hash_field(removal.number_id, removal.day), signed, removal.day.day, removal.number_id]
        scripts.unmark(redis, [keys.unmarked(), *bitmaps_of_day], arguments)
        if not removal.is_in_redis:
            Unmarked.objects.filter(pk=removal.pk).update(is_in_redis=True)


def lift_removals(marks: Collection[Mark]) -> Removals:
    """Lift the removals of these logins in SQL. Return the removals, by dense id and day."""
    wanted = {(mark.number, mark.day) for mark in marks}
    numbers, found = sorted({number for number, _ in wanted}), Removals()
    for at in range(0, len(numbers), IDS_PER_STATEMENT):
        rows = Unmarked.objects.filter(
            number__in=numbers[at : at + IDS_PER_STATEMENT], day__in={day for _, day in wanted}
        )
        for removal in rows:
            if (removal.number_id, removal.day) in wanted:
                found[removal.number_id, removal.day] = removal.pk
    if found:  # without removals no write happens, so that no merge waits
        Unmarked.objects.in_force().filter(pk__in=found.values()).update(is_lifted=True)
    return found


def _build_hash_field(number: int, day: date) -> str:
    """Return the field of ``keys.unmarked``, which ``mark.lua`` builds in the same way."""
    return f"{number}:{day}"
