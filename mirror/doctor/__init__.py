"""``manage.py mirror doctor``: problems that keep the mirrors from working, each with a remedy.

The findings are messages of Django's checks. Those of the system checks are among them; the others need Redis, SQL
and a running relay, so they are no system checks.
"""

from django.core.checks import CheckMessage
from django.utils.module_loading import import_string

from mirror import checks
from mirror.conf import setting
from mirror.doctor.relay import check_backlog, check_clocks, check_other_site, check_relay, check_visits
from mirror.doctor.servers import NO_REDIS, NO_RIGHTS, NO_WRITES, check_redis
from mirror.doctor.settings import check_settings
from mirror.doctor.sql import NO_SQL, NOT_MIGRATED, check_sql
from mirror.redis.clients import relay_client


def examine() -> list[CheckMessage]:
    """Return all findings, each once. What needs an unreachable server or a missing table is not examined."""
    found = list(check_settings())
    for check in (checks.check_declarations, checks.check_vendor):
        if any(message.is_serious() for message in found):
            return found
        found += check()
    redis = relay_client()
    redis_found, sql_found = check_redis(redis), check_sql()
    found += [*redis_found, *sql_found]
    ids = {message.id for message in found}
    if ids.isdisjoint({NO_REDIS, NO_RIGHTS, NO_SQL, NOT_MIGRATED}):
        is_working = NO_WRITES not in ids  # otherwise delays are a consequence, and no relay could help
        found += [*check_clocks(redis), *check_other_site(redis), *(check_relay(redis) if is_working else ())]
        found += [*check_backlog(with_delays=is_working), *(check_visits() if is_working else ())]
    for path in setting("DOCTOR_CHECKS"):
        found += import_string(path)()
    return list({(message.id, message.msg): message for message in found}.values())
