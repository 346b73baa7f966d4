"""The sweep of visits: write them to SQL, and restore lost data. The relay's sweep requests it if there is work."""

import logging
from typing import Final

from redis.exceptions import RedisError

from mirror.redis.clients import relay_client, report_answer, report_outage
from mirror.redis.errors import is_away
from mirror.redis.lease import lease
from mirror.redis.types import RedisClient
from mirror.relay import drains
from mirror.utils.failure_log import FailureLog
from mirror.utils.sql_outages import SQL_AWAY
from mirror.visits import restoring
from mirror.visits.consumer import consume
from mirror.visits.declare import VisitKind, all_kinds
from mirror.visits.status import statuses

failures: Final = FailureLog(logging.getLogger("mirror"))


def is_due(redis: RedisClient) -> bool:
    """Return whether visits wait for SQL, or their data is not restored. One round trip. False while Redis is away."""
    return any(status.waiting or status.restored is False for status in statuses(redis=redis))


def sweep(redis: RedisClient | None = None) -> int:
    """Run one round over all kinds of visits. Return the number of entries that were removed from the streams.

    While Redis or SQL is away, nothing happens, and the next sweep tries again a second later. A kind that fails is
    logged and does not delay the others.
    """
    redis = redis or relay_client()
    total = 0
    for kind in all_kinds():
        try:
            total += _sweep_kind(kind, redis)
        except Exception as error:
            if _report_away(error):
                # The other kinds would only wait for the same time-out.
                return total
            failures.add(kind.name, "Could not write visits of %s", kind.name, error=error)
        else:
            report_answer()
            failures.end(SQL_AWAY, "SQL takes visits again")
            failures.end(kind.name, "Visits of %s are written again", kind.name)
    return total


def _report_away(error: Exception) -> bool:
    """Report that Redis or SQL is away. Return False for another error."""
    if isinstance(error, RedisError) and is_away(error):
        report_outage(error, "Redis is away, visits wait: %s")
        return True
    if isinstance(error, SQL_AWAY):
        failures.add(SQL_AWAY, "SQL is away, visits wait in Redis: %s", error, level=logging.WARNING)
        return True
    return False


def _sweep_kind(kind: VisitKind, redis: RedisClient) -> int:
    stream, trimmed = kind.keys
    pipe = redis.pipeline(transaction=False)
    pipe.xlen(stream)
    pipe.exists(trimmed)
    waiting, has_lost = pipe.execute()
    is_restored = restoring.is_restored(kind, redis)
    if not (waiting or has_lost) and is_restored:
        return 0
    with lease(redis, f"visits:{kind.name}") as mine:
        if not mine:
            return 0
        seconds = drains.SWEEP_BUDGET_SECONDS
        done = 0
        if waiting:
            done = consume(kind, seconds, redis=redis)
        if has_lost:
            # In one command, so that an entry which is lost meanwhile is counted by the next run.
            kind.count_dropped("full", int(redis.getdel(trimmed) or 0))
        if not is_restored:
            restoring.restore(kind, seconds, redis=redis)
        return done
