"""Erasure of a user: every bit is cleared in SQL and Redis, and a tombstone keeps older copies out.

SQL is first, in one transaction. Redis follows after the commit or, if it is away, when it is back.
"""

import logging
from typing import Final

from django.db import transaction
from django.db.models import BinaryField, F, Func, QuerySet, Value

from common.database import repeat_after_conflict
from loginlog import days, keys
from loginlog.models import DayBits, Erased, MonthBits, Number, Unmarked
from loginlog.storage import dense_ids, scripts
from loginlog.storage.bitmaps import SEGMENT
from loginlog.storage.items import parse_member
from mirror.redis import RedisClient, try_redis

logger = logging.getLogger("loginlog")

ROWS_PER_QUERY: Final = 200  # rows per query


@repeat_after_conflict
def erase_user(user_id: int) -> bool:
    """Erase a user from the login log. Return whether the log had the user.

    SQL is clean when this returns (or when the surrounding transaction commits). Redis follows right after that, or in
    ``settling.settle_redis`` when it is back. The user may log in again later and then gets another dense id.
    """
    with transaction.atomic():
        # no_key: a running merge checks its foreign key to this row, while this transaction waits for the merge.
        row = Number.objects.select_for_update(no_key=True).filter(user_id=user_id).first()
        if row is None:
            return False
        # This first write blocks merges (``sql.merge_bitmaps``) until the commit.
        Erased.objects.create(number=row, user_pk=user_id)
        Number.objects.filter(pk=row.pk).update(user=None)
        Unmarked.objects.filter(number=row).delete()
        MonthBits.objects.filter(number=row).delete()
        clear_day_bits(row.pk, DayBits.objects.all())
        transaction.on_commit(lambda: _clean_after_commit(user_id, row.pk))
    return True


def clear_day_bits(number: int, rows: QuerySet[DayBits]) -> int:
    """Clear the bit of a dense id in these rows. Return the number of rows that had it set.

    To find these rows, the query reads only the byte with the bit.
    """
    segment, place = divmod(number, SEGMENT)
    byte, bit = divmod(place, 8)
    cut = Func(F("bits"), Value(byte + 1), Value(1), function="substr", output_field=BinaryField())
    parts = rows.filter(segment=segment).annotate(part=cut).values_list("pk", "part")
    found = sorted(pk for pk, part in parts if part and bytes(part)[0] & 128 >> bit)
    for at in range(0, len(found), ROWS_PER_QUERY):
        with_bit = DayBits.objects.select_for_update().filter(pk__in=found[at : at + ROWS_PER_QUERY])
        for row in with_bit.order_by("day", "user_type", "segment"):
            raw = bytearray(row.bits)
            raw[byte] &= ~(128 >> bit)
            row.bits = bytes(raw).rstrip(b"\0")
            row.save(update_fields=["bits"])
    return len(found)


def _clean_after_commit(user_id: int, number: int) -> None:
    dense_ids.dense_id_cache.forget(user_id)
    try_redis(
        lambda redis: clean_redis(redis, user_id, number),
        lambda: None,
        logger,
        "Redis did not answer, the erased user's bits there wait to be wiped: %s",
    )


def clean_all_erased(redis: RedisClient) -> None:
    """Remove all bits of erased users from Redis. Raises redis-py's errors."""
    for left in Erased.objects.exclude(user_pk=None):
        if left.user_pk is not None:
            clean_redis(redis, left.user_pk, left.number_id)


def clean_redis(redis: RedisClient, user_id: int, number: int) -> None:
    """Remove all bits of an erased dense id from Redis. Repeated and concurrent calls are safe."""
    done = -1
    while done < 0:
        months = [parse_member(member.decode()) for member in redis.zrange(keys.months(), 0, -1)]
        names = [keys.month(month, kind, user_id) for month, kind in months]
        done = scripts.erase(redis, [keys.erased(), keys.population(), keys.months(), *names], [number, len(months)])
    for month, kind in months:
        wanted = [keys.day(day, kind) for day in days.list_days(month, days.last_day_of_month(month))]
        scripts.clear_bits(redis, wanted, [number])
    Erased.objects.filter(number_id=number).update(user_pk=None)
