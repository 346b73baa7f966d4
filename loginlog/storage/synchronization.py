"""The weekly comparison of SQL and Redis: the current month, and before the 8th also the previous one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from loginlog import days, keys
from loginlog.mirrors import NAME, find_owners
from loginlog.models import LoginMonth
from loginlog.names import is_name, make_month_key
from loginlog.storage import bitmaps, months, numbers, reading, unions
from mirror import Bit
from mirror.conf import setting
from mirror.redis import RedisClient, Session, relay_client
from mirror.status import statuses
from mirror.verify import repair_rows, scan_keys

ROWS_PER_STEP: Final = 500
LAST_DAY_WITH_PREVIOUS: Final = 7  # of a month: from the 8th on, the previous month is left alone


class Synced(NamedTuple):
    """The compared months (their first days), the number of rows, and the number of repaired differences."""

    months: list[date]
    rows: int
    repaired: int


def sync_months(redis: RedisClient | None = None) -> Synced:
    """Compare the bitmaps of these months with SQL in both directions, and repair Redis. Then forget deleted users.

    Raises redis-py's errors when Redis is away, and Django's.
    """
    redis = redis or relay_client()
    # Listed first: a user who is deleted during the comparison may still have bits in Redis.
    deleted = numbers.list_deleted_users()
    wanted = _list_compared_months(days.today())
    rows = repaired = 0
    for month in wanted:
        for part in months.iterate_month(month, ROWS_PER_STEP):
            rows += len(part)
            repaired += repair_rows(NAME, [name for name, _ in part], redis=redis)
        for names in _find_stray_months(month, redis):
            repaired += repair_rows(NAME, names, redis=redis)
        # After the months: a bit that follows from a stray month has gone with it.
        for bits in _find_stray_bits(month, redis):
            strays = _group_by_owner(bits)
            repaired += repair_rows(NAME, list(strays), strays, redis=redis)
    _forget_deleted_users(deleted)
    return Synced(wanted, rows, repaired)


def _list_compared_months(today: date) -> list[date]:
    month = days.month_of(today)
    if today.day > LAST_DAY_WITH_PREVIOUS:
        return [month]
    return [days.month_of(month - days.ONE_DAY), month]


def _group_by_owner(bits: Sequence[Bit]) -> dict[str, list[Bit]]:
    """Return the bits of one day by the names of the months to which they belong."""
    owners = find_owners(bits[0].key, [str(bit.offset) for bit in bits])
    found: dict[str, list[Bit]] = defaultdict(list)
    for owner, bit in zip(owners, bits, strict=True):
        found[owner].append(bit)
    return found


def _forget_deleted_users(user_ids: list[int]) -> None:
    """Remove the ids of users that were deleted before, if Redis has no bit of them because nothing is pending."""
    [status] = [status for status in statuses(count_rows=False) if status.mirror == NAME]
    # A drain needs the dense ids of deleted users to remove their bits.
    if status.warm and not status.pending and not status.quarantined:
        numbers.forget_users(user_ids)


def _find_stray_months(month: date, redis: RedisClient) -> Iterator[list[str]]:
    """Yield the names of the month's bitmaps in Redis that SQL does not have."""
    start, prefix = make_month_key(f"{month:%Y-%m}_"), make_month_key("")
    with Session(redis) as session:
        for found in scan_keys(session):
            names = {key.removeprefix(prefix) for key in found if key.startswith(start)}
            known = LoginMonth.objects.using(setting("DATABASE")).filter(pk__in=names).values_list("pk", flat=True)
            # The mirror does not own keys that only resemble its names, and leaves them alone.
            strays = [name for name in sorted(names - set(known)) if is_name(name)]
            if strays:
                yield strays


def _find_stray_bits(month: date, redis: RedisClient) -> Iterator[list[Bit]]:
    """Yield bits in Redis that SQL does not have, some hundred of a day at a time."""
    for kind in reading.list_types():
        group = next(months.read_groups(month, month, [kind], expired_only=False), None)
        for day in days.list_days(month, days.last_day_of_month(month)):
            active = bitmaps.from_positions(group.find_active(day, day)) if group else b""
            # Redis is read after SQL, so a login in between looks like a stray. The repair reads its row again.
            stray_bits = bitmaps.subtract(_read_day(day, kind, redis), active)
            found = bitmaps.list_positions(stray_bits).tolist()
            for at in range(0, len(found), ROWS_PER_STEP):
                yield [Bit(keys.day(day, kind), number) for number in found[at : at + ROWS_PER_STEP]]


def _read_day(day: date, kind: str, redis: RedisClient) -> bytes:
    name = keys.day(day, kind)
    pipe = redis.pipeline(transaction=False)
    unions.queue_fetch(pipe, name, redis.strlen(name))
    return b"".join(pipe.execute())
