"""``manage.py mirror doctor``: problems that keep the mirrors from working, each with a remedy.

The findings are messages of Django's checks. Those of the system checks are among them; the others need Redis, SQL
and a running relay, so they are no system checks.
"""

from collections.abc import Iterator

from django.core.checks import CheckMessage
from django.utils.module_loading import import_string

from mirror import checks
from mirror.conf import setting
from mirror.doctor.relay import check_backlog, check_clocks, check_other_site, check_relay, check_visits
from mirror.doctor.servers import NO_REDIS, NO_RIGHTS, NO_WRITES, check_redis
from mirror.doctor.settings import check_settings
from mirror.doctor.sql import NO_SQL, NOT_MIGRATED, check_sql
from mirror.redis.clients import relay_client
from mirror.redis.types import RedisClient


def examine() -> list[CheckMessage]:
    """Return all findings, each once. What needs an unreachable server or a missing table is not examined."""
    found = list(check_settings())
    # After a serious finding, the rest would only report its consequences.
    for check in (checks.check_declarations, checks.check_vendor):
        if any(message.is_serious() for message in found):
            return found
        found += check()
    redis = relay_client()
    found += check_redis(redis)
    found += check_sql()
    ids = {message.id for message in found}
    if ids.isdisjoint({NO_REDIS, NO_RIGHTS, NO_SQL, NOT_MIGRATED}):
        found += _check_work(redis, can_write=NO_WRITES not in ids)
    for path in setting("DOCTOR_CHECKS"):
        found += import_string(path)()
    # A check of the site may report what a check of the mirrors has reported.
    unique = {(message.id, message.msg): message for message in found}
    return list(unique.values())


def _check_work(redis: RedisClient, *, can_write: bool) -> Iterator[CheckMessage]:
    """Check the relay and what waits for it. Raises errors of both servers, which have to answer."""
    yield from check_clocks(redis)
    yield from check_other_site(redis)
    # If Redis refuses writes, delays are a consequence, and no relay could help.
    if can_write:
        yield from check_relay(redis)
    yield from check_backlog(with_delays=can_write)
    if can_write:
        yield from check_visits()
