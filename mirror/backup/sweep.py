"""The sweep of backups: flush the due ones and restore the lost ones. Beat requests it every second."""

import logging

from redis.exceptions import RedisError

from mirror.backup import epoch, marks, registry
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.restore import restore
from mirror.cluster import sentinels
from mirror.conf import milliseconds, setting
from mirror.redis import naming
from mirror.redis.clients import is_away, relay_client, report_answer, report_outage, work_or_wait
from mirror.redis.lease import lease
from mirror.redis.session import is_cluster
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
    redis, total = redis or relay_client(), 0
    if is_cluster(redis) and not work_or_wait(_notice_emptied, False, logger, "Redis is away: %s", redis=redis):
        return total
    for backup in registry.all_backups():
        try:
            total += _one(backup, redis)
        except Exception as error:
            if isinstance(error, RedisError) and is_away(error):
                report_outage(error, "Redis is away, backups wait: %s")
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


def _notice_emptied(redis: RedisClient) -> bool:
    """Let all backups be restored if a master of a cluster was emptied. Return True."""
    was_emptied = sentinels.was_emptied(redis, "backup")
    if was_emptied:
        logger.warning("A master of the cluster was emptied: everything is restored")
        redis.delete(*(naming.restored(backup.name) for backup in registry.all_backups()))
    sentinels.renew(redis, "backup", emptied=was_emptied)
    return True


def _one(backup: Backup, redis: RedisClient) -> int:
    marks.find_marked_slots(backup, redis)
    pipe = redis.pipeline(transaction=False)
    pipe.get(naming.restored(backup.name))
    pipe.exists(naming.flushed(backup.name))
    for place in marks.places(backup, redis):
        pipe.zcard(place)
    found, early, *counts = pipe.execute()
    marked = sum(counts)
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
