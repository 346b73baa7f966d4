"""Removing one login that was marked by mistake, in SQL and in Redis, and what lets a later mark count again.

A bit is only ever OR-ed, so a removal leaves a row (``Unmarked``) that keeps copies of the bit out: late flushes,
files, an older Redis. Redis has the same as a hash, for scripts that mark. A mark lifts the removal in SQL first,
then in Redis. The row stays, so that a cleaner that comes late finds out.
"""

import logging
from collections.abc import Collection, Iterable
from datetime import date
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from accounts.models import User
from loginlog import bitmaps, days, keys, scripts, selectors, store, tombstones
from loginlog.direct import Mark
from loginlog.erasure import clear_days
from loginlog.items import Item
from loginlog.models import DayBits, MonthBits, Number, Unmarked
from mirror.commit import after_commit
from mirror.redis import RedisError, breaker, client, is_away

logger = logging.getLogger("loginlog")

STEP: Final = 500  # removals in one statement
Removals = dict[tuple[int, date], int]  # by number and day


def unmark(user_id: int, day: date) -> bool | None:
    """Remove a user's login of a day, of every type. Returns whether there was one.

    None: SQL has none, and Redis is away; what it has is removed later. In SQL it is done when this returns (or with
    the transaction around it); in Redis right after that, or by ``filling.settle``.
    """
    has_login = selectors.logged_in_on(user_id, day) or _is_in_sql(user_id, day)
    if not has_login and not breaker.open():
        return False
    with transaction.atomic():
        # no_key: as in ``erasure.erase``.
        number = Number.objects.select_for_update(no_key=True).filter(user_id=user_id).first()
        if number is None:
            return False
        Unmarked.objects.filter(number=number, day=day).delete()
        removal = Unmarked.objects.create(number=number, day=day)  # from here on nobody merges (``store.merge``)
        rest = tombstones.ALL_BITS & ~bitmaps.bit_of(day)
        MonthBits.objects.filter(number=number, month=days.month_of(day)).update(bits=F("bits").bitand(rest))
        clear_days(number.pk, DayBits.objects.filter(day=day))
        after_commit(_clean_now, removal)
    return has_login or None


def _is_in_sql(user_id: int, day: date) -> bool:
    bits = (bits for _, bits in store.months_of(user_id, days.month_of(day), day))
    return any(found & bitmaps.bit_of(day) for found in bits)


def _clean_now(removal: Unmarked) -> None:
    if breaker.open():
        return
    try:
        clean(client(), [removal])
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not answer, the removed login waits there: %s", error)


def clean_all(redis: Any) -> None:
    """Remove from Redis what was removed from SQL alone. Raises redis-py's errors."""
    clean(redis, Unmarked.objects.in_force().filter(is_in_redis=False).select_related("number"))


def clean_items(redis: Any, items: Collection[Item]) -> None:
    """Tell Redis of the removals that concern these bitmaps: what was just written there may be older."""
    clean(redis, tombstones.removals_of(items))


def clean(redis: Any, removals: Iterable[Unmarked]) -> None:
    """Tell Redis of these removals. Any number of times, and by several at once. Raises redis-py's errors."""
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
        arguments = [_field(removal.number_id, removal.day), signed, removal.day.day, removal.number_id]
        scripts.unmark(redis, [keys.unmarked(), *bitmaps_of_day], arguments)
        if not removal.is_in_redis:
            Unmarked.objects.filter(pk=removal.pk).update(is_in_redis=True)


def lift(marks: Collection[Mark]) -> Removals:
    """Let these logins count, removed or not. Returns the removals that there were."""
    wanted = {(mark.number, mark.day) for mark in marks}
    numbers, found = sorted({number for number, _ in wanted}), Removals()
    for at in range(0, len(numbers), STEP):
        rows = Unmarked.objects.filter(number__in=numbers[at : at + STEP], day__in={day for _, day in wanted})
        for removal in rows:
            if (removal.number_id, removal.day) in wanted:
                found[removal.number_id, removal.day] = removal.pk
    if found:  # else nothing is written, and no merge has to wait
        Unmarked.objects.in_force().filter(pk__in=found.values()).update(is_lifted=True)
    return found


def _field(number: int, day: date) -> str:
    """As ``mark.lua`` puts it together."""
    return f"{number}:{day}"
