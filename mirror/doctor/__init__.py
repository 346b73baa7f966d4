"""``manage.py mirror doctor``: problems that keep the mirrors from working, each with a remedy.

The findings are messages of Django's checks. Those of the system checks are among them; the others need Redis, SQL
and a running relay, so they are no system checks.
"""

from django.core.checks import CheckMessage

from mirror.backup.checks import check_backups
from mirror.declare import checks
from mirror.doctor.relay import check_backlog, check_clocks, check_marks, check_relay
from mirror.doctor.servers import NO_REDIS, check_redis
from mirror.doctor.settings import check_settings
from mirror.doctor.sql import NO_SQL, NOT_MIGRATED, check_sql
from mirror.redis.clients import relay_client


def examine() -> list[CheckMessage]:
    """Return all findings. What needs an unreachable server or a missing table is not examined."""
    found = list(check_settings())
    for check in (checks.check_declarations, checks.check_vendor, check_backups):
        if any(message.is_serious() for message in found):
            return found
        found += check()
    redis = relay_client()
    redis_found, sql_found = check_redis(redis), check_sql()
    found += [*redis_found, *sql_found]
    if all(message.id not in (NO_REDIS, NO_SQL, NOT_MIGRATED) for message in found):
        found += [*check_clocks(redis), *check_relay(redis), *check_backlog(), *check_marks()]
    return found
