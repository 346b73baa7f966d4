"""The sweep of backups: flush the due ones and restore the lost ones. Beat requests it every second."""

import logging

from redis.exceptions import RedisError

from mirror.backup import epoch, registry
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.restore import restore
from mirror.conf import milliseconds, setting
from mirror.redis import naming
from mirror.redis.clients import is_away, relay_client, report_answer, report_outage
from mirror.redis.lease import lease
from mirror.redis.types import RedisClient
from mirror.utils.failure_log import FailureLog
from mirror.utils.sql_away import SQL_AWAY

logger = logging.getLogger("mirror")
failures = FailureLog(logger)

EARLY_SECONDS = 0.5  # a backup is due this much early, because beat is not exact


def sweep(redis: RedisClient | None = None) -> int:
    """Run one round over all backups. Return the number of items written to SQL.

    While Redis or SQL is away, nothing happens, and the next sweep tries again a second later. A backup whose
    declaration fails is logged and does not delay the others.
    """
    total = 0
    for backup in registry.all_backups():
        try:
            total += _one(backup, redis or relay_client())
        except Exception as error:
            if isinstance(error, RedisError) and is_away(error):
                report_outage("Redis is away, backups wait: %s", error)
                return total
            if isinstance(error, SQL_AWAY):
                failures.add(SQL_AWAY, "SQL is away, backups wait in Redis: %s", error, level=logging.WARNING)
                return total
            failures.add(backup.name, "Could not flush or restore %s", backup.name, error=error)
        else:
            report_answer()
            failures.end(SQL_AWAY, "SQL takes backups again")
            failures.end(backup.name, "%s is flushed and restored again", backup.name)
    return total


def _one(backup: Backup, redis: RedisClient) -> int:
    pipe = redis.pipeline(transaction=False)
    pipe.get(naming.restored(backup.name))
    pipe.exists(naming.flushed(backup.name))
    pipe.zcard(backup.marks())
    found, early, marked = pipe.execute()
    warm, due = epoch.trusted(redis, [found])[0], marked and not early
    if warm and not due:
        return 0
    with lease(redis, f"backup:{backup.name}") as mine:
        if not mine:
            return 0
        items = _flush(backup, redis) if due else 0
        if not warm:
            restore(backup, float(setting("SWEEP_BUDGET_SECONDS")), redis=redis)
        return items


def _flush(backup: Backup, redis: RedisClient) -> int:
    """Flush, and save when the backup is due again. Retry quarantined items once per interval."""
    again = redis.set(naming.lease(f"again:{backup.name}"), 1, nx=True, px=milliseconds("QUARANTINE_RETRY_SECONDS"))
    done = flush(backup, float(setting("SWEEP_BUDGET_SECONDS")), again=bool(again), redis=redis)
    wait = backup.every_seconds - EARLY_SECONDS
    if wait > 0 and done.finished:
        redis.set(naming.flushed(backup.name), 1, px=int(wait * 1000))
    return done.items
