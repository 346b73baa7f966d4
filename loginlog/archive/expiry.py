"""Expiry: old months leave Redis after a log file has them. SQL keeps them, or not, as the caller wants.

For each month a run writes a log file (``log_files``), and then marks the months that still equal their lines as
expired, or deletes them. The mirror does the rest. A run that is killed between any two steps loses nothing; the next
one starts over, and at worst writes another file.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction

from common.database import repeat_after_conflict
from loginlog import days
from loginlog.archive import log_files
from loginlog.archive.log_files import Line
from loginlog.mirrors import NAME
from loginlog.models import LoginMonth
from loginlog.names import MonthName
from loginlog.storage import months, reading
from mirror.conf import setting
from mirror.redis import Conflict, RedisClient, Session, lease, relay_client
from mirror.relay import drains
from mirror.utils import Step, ignore

MONTHS_PER_TRANSACTION: Final = 500
LEASE_SECONDS: Final = 3600.0


class TooYoung(ValueError):
    """The requested age would remove bitmaps for which readers ask only Redis."""


@dataclass(frozen=True)
class ExpiredMonth:
    """The outcome of a month.

    removed: bitmaps of users that left Redis. kept: those that changed meanwhile. file: the log file.
    """

    month: date
    removed: int
    kept: int
    file: Path | None


def expire_months(
    older_than: int | None = None, *, from_sql: bool = False, redis: RedisClient | None = None, step: Step = ignore
) -> list[ExpiredMonth]:
    """Remove the months from Redis that ended more than ``older_than`` days ago (default: the setting).

    from_sql: delete them in SQL as well, also those that have left Redis before. Return the outcome of each month, an
    empty list while another process runs an expiry. Raises TooYoung for less than 31 days, and redis-py's and Django's
    errors, OSError and log_files.BadFile. After an error, all removed bitmaps are in a log file.
    """
    kept_days = settings.LOGINLOG_EXPIRE_DAYS if older_than is None else older_than
    if kept_days < days.MIN_DAYS_IN_REDIS:
        raise TooYoung(f"what is not older than {days.MIN_DAYS_IN_REDIS} days stays in Redis")
    redis = redis or relay_client()
    with lease(redis, "loginlog:expire", LEASE_SECONDS) as mine:
        if not mine:
            return []
        # Under the lease, because no other process may be writing one of these files.
        log_files.remove_unfinished(Path(settings.LOGINLOG_FOLDER))
        since_year_one = (days.today() - date.min).days
        limit = days.today() - timedelta(days=min(kept_days, since_year_one))
        rows = LoginMonth.objects.using(setting("DATABASE")).filter(month__lt=limit)
        found = []
        for month in list(rows.order_by("month").values_list("month", flat=True).distinct()):
            if days.last_day_of_month(month) >= limit:
                continue
            if from_sql or rows.filter(month=month, is_expired=False).exists():
                found.append(_expire_month(month, from_sql, redis, step))
            # Also for a month that has expired before, because a killed run may have left this step out.
            step("forget")
            _forget_empty_days(month, redis)
        return found


def _expire_month(month: date, from_sql: bool, redis: RedisClient, step: Step) -> ExpiredMonth:
    # The file before the rows: a crash in between leaves logins in both, and never in neither.
    step("write")
    path = log_files.write_file(Path(settings.LOGINLOG_FOLDER), month, _make_lines(month, from_sql))
    removed = kept = 0
    step("remove")
    for lines in _read_parts(path):
        names = _remove(lines, from_sql)
        removed += len(names)
        kept += len(lines) - len(names)
        drains.drain_keys(NAME, names, redis=redis)
        step("removed")
    return ExpiredMonth(month, removed, kept, path)


def _make_lines(month: date, from_sql: bool) -> Iterator[Line]:
    conditions = {} if from_sql else {"is_expired": False}
    for part in months.iterate_month(month, MONTHS_PER_TRANSACTION, **conditions):
        yield from (Line(MonthName.parse(name), bits) for name, bits in part if bits)


def _read_parts(path: Path | None) -> Iterator[list[Line]]:
    lines = log_files.read_lines(path) if path else iter(())
    while part := list(islice(lines, MONTHS_PER_TRANSACTION)):
        yield [line for _, line in part]


@repeat_after_conflict
def _remove(lines: list[Line], from_sql: bool) -> list[str]:
    """Expire or delete the months that still equal their lines. Return their names."""
    written = {str(line.name): line.bits for line in lines}
    rows = LoginMonth.objects.using(setting("DATABASE")).filter(pk__in=written)
    with transaction.atomic(using=setting("DATABASE")):
        # A month with a login that was marked since the file was written stays, until the next run writes it.
        locked = rows.select_for_update().order_by("pk").values_list("name", "bits")
        names = [name for name, bits in locked if bits == written[name]]
        same = rows.filter(pk__in=names)
        if from_sql:
            same.delete()
        else:
            same.update(is_expired=True)
    return names


def _forget_empty_days(month: date, redis: RedisClient) -> None:
    """Delete the bitmaps of days without any set bit."""
    names = reading.Span(month, days.last_day_of_month(month)).keys()
    # SETBIT to 0 leaves a key of zeros, which Redis keeps.
    pipe = redis.pipeline(transaction=False)
    for name in names:
        pipe.strlen(name)
    for name, size in zip(names, pipe.execute(), strict=True):
        if not size:
            continue
        # A conflict: a login was marked between the count and the removal, and the bitmap is no longer empty.
        with Session(redis) as session, suppress(Conflict):
            if session.watch_and_ask([name], [("BITCOUNT", name)]) == [0]:
                session.execute([("UNLINK", name)])
