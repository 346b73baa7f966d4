"""Counters of login attempts in SQL: the failures, and while Redis is away all attempts.

Rows are always locked in the order pair, name, address, one row of each kind, which prevents deadlocks.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.lockout.limits import Counter
from accounts.lockout.models import FailedLogins
from common.database import repeat_after_conflict

ROWS_PER_DELETION: Final = 500  # rows that ``remove`` deletes per statement
MAX_SWEPT_ROWS: Final = 10
_TABLE: Final = FailedLogins._meta.db_table

# Add one; an expired counter starts again at 1. The period starts with the first failure, and again with the failure
# that fills the counter, so that the lock-out lasts a full period.
_INCREMENT_SQL: Final = f"""
    INSERT INTO {_TABLE} (key, kind, name, address, count, allowed, ends_at)
    VALUES (%(key)s, %(kind)s, %(name)s, %(address)s, 1, %(allowed)s, %(ends_at)s)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN {_TABLE}.ends_at <= %(now)s THEN 1 ELSE {_TABLE}.count + 1 END,
        allowed = excluded.allowed,
        ends_at = CASE
            WHEN {_TABLE}.ends_at > %(now)s AND {_TABLE}.count + 1 <> excluded.allowed THEN {_TABLE}.ends_at
            ELSE excluded.ends_at
        END
"""
_UNLESS_FULL_SQL: Final = f" WHERE {_TABLE}.ends_at <= %(now)s OR {_TABLE}.count < excluded.allowed RETURNING key"


class _CounterFull(Exception):
    """A counter is full, so none is increased."""


def read_counts(counters: Sequence[Counter]) -> dict[str, tuple[int, float]]:
    """Return, by key, the number of failures and the seconds until it expires."""
    now = timezone.now()
    found = FailedLogins.objects.filter(pk__in=[counter.key for counter in counters], ends_at__gt=now)
    rows = found.values_list("key", "count", "ends_at")
    return {key: (count, (ends_at - now).total_seconds()) for key, count, ends_at in rows}


@repeat_after_conflict
def reserve(counters: Sequence[Counter]) -> float:
    """Add one to each counter, or to none if one is full. Return 0, or the seconds until none is full."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            for counter in counters:
                cursor.execute(_INCREMENT_SQL + _UNLESS_FULL_SQL, _make_row_values(counter))
                # The error rolls back the counters before this one, so that a refused attempt counts nowhere.
                if cursor.fetchone() is None:
                    raise _CounterFull
            _delete_expired()
    except _CounterFull:
        allowed = {counter.key: counter.limit.allowed for counter in counters}
        return max((left for key, (count, left) in read_counts(counters).items() if count >= allowed[key]), default=1.0)
    return 0.0


@repeat_after_conflict
def increment(counters: Sequence[Counter]) -> None:
    """Add one to each counter, even if it is full."""
    with transaction.atomic(), connection.cursor() as cursor:
        for counter in counters:
            cursor.execute(_INCREMENT_SQL, _make_row_values(counter))
        _delete_expired()


def _delete_expired() -> None:
    """Delete a few expired rows. Every write calls this, so that the table does not grow."""
    over = FailedLogins.objects.filter(ends_at__lte=timezone.now()).order_by("ends_at")
    # Rows locked by another transaction are skipped: waiting for them could deadlock.
    keys = list(over.select_for_update(skip_locked=True).values_list("pk", flat=True)[:MAX_SWEPT_ROWS])
    if keys:
        FailedLogins.objects.filter(pk__in=keys).delete()


def _make_row_values(counter: Counter) -> dict[str, Any]:
    now = timezone.now()
    moment = connection.ops.adapt_datetimefield_value
    return {
        "key": counter.key,
        "kind": counter.limit.kind,
        "name": counter.name,
        "address": counter.address,
        "allowed": counter.limit.allowed,
        "now": moment(now),
        "ends_at": moment(now + timedelta(seconds=counter.limit.seconds)),
    }


def give_back(counters: Sequence[Counter]) -> None:
    """Subtract one from each counter."""
    for counter in counters:
        # The condition keeps a counter that expired and began again meanwhile from falling below 0.
        FailedLogins.objects.filter(pk=counter.key, count__gt=0).update(count=F("count") - 1)


def clear(counters: Sequence[Counter]) -> None:
    """Remove these counters."""
    FailedLogins.objects.filter(pk__in=[counter.key for counter in counters]).delete()


def remove(*, name: str | None, address: str | None, keys: Sequence[str] | None = None) -> Iterator[list[str]]:
    """Remove the counters of a name, of an address, of both together, or all. Yield their keys in batches.

    keys: restricts the removal to counters with these keys.
    """
    chosen = {"name": name, "address": address, "pk__in": keys}
    wanted = Q(**{column: value for column, value in chosen.items() if value is not None})
    # The order in which attempts lock the rows.
    for kind in FailedLogins.Kind.values:
        rows = FailedLogins.objects.filter(wanted, kind=kind).order_by("pk")
        while found := list(rows.values_list("pk", flat=True)[:ROWS_PER_DELETION]):
            FailedLogins.objects.filter(pk__in=found).delete()
            yield found
