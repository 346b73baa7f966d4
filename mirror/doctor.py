"""``manage.py mirror doctor``: problems that keep the mirrors from working, each with a remedy.

The findings are messages of Django's checks. Those of the system checks are among them; the others need Redis, SQL
and a running relay, so they are no system checks.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from django.conf import settings
from django.core.cache import caches
from django.core.checks import CheckMessage, Error, Warning
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from mirror import registry
from mirror.backup import status as backup_status
from mirror.backup.checks import check_backups
from mirror.capture import layouts
from mirror.conf import DEFAULTS, setting
from mirror.declare import checks
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import MirrorPool, PoolFactory, list_servers, relay_client
from mirror.redis.session import is_cluster
from mirror.redis.types import RedisClient
from mirror.standalone import notices
from mirror.status import Status, statuses

MIN_VERSION: Final = (6, 2)
MAX_CLOCK_SECONDS: Final = 1.0  # difference between the clocks of SQL and Redis
MIDDLEWARE: Final = "mirror.middleware.ReadYourWrites"
RUN: Final = "Start `manage.py mirror run`, or a Celery worker and beat."


def examine() -> list[CheckMessage]:
    """Return all findings. What needs an unreachable server or a missing table is not examined."""
    found = list(_check_settings())
    for check in (checks.check_declarations, checks.check_vendor, check_backups):
        if any(message.is_serious() for message in found):
            return found
        found += check()
    redis = relay_client()
    redis_found, sql_found = _check_redis(redis), _check_sql()
    found += [*redis_found, *sql_found]
    if all(message.id not in (NO_REDIS, NO_SQL, NOT_MIGRATED) for message in found):
        found += [*_check_clocks(redis), *_check_relay(redis), *_check_backlog(), *_check_marks()]
    return found


NO_REDIS: Final = "mirror.E034"
NO_SQL: Final = "mirror.E035"
NOT_MIGRATED: Final = "mirror.E040"


def _check_settings() -> Iterator[CheckMessage]:
    if unknown := sorted(getattr(settings, "MIRROR", {}).keys() - DEFAULTS.keys()):
        hint = "Correct the spelling, or remove them: they have no effect."
        yield Warning(f"MIRROR has unknown settings: {', '.join(unknown)}.", hint=hint, id="mirror.W031")
    if setting("DATABASE") not in settings.DATABASES:
        hint = 'Set MIRROR["DATABASE"] to an alias in DATABASES.'
        yield Error(f"There is no database {setting('DATABASE')!r}.", hint=hint, id="mirror.E031")
    for alias in dict.fromkeys((setting("ALIAS"), setting("RELAY_ALIAS") or setting("ALIAS"))):
        yield from _check_alias(alias)
    if MIDDLEWARE not in settings.MIDDLEWARE:
        hint = f'Put "{MIDDLEWARE}" into MIDDLEWARE, before all middleware that writes.'
        yield Warning("Users may not see their own writes in their next request.", hint=hint, id="mirror.W032")


def _check_alias(alias: str) -> Iterator[CheckMessage]:
    try:
        cache: Any = caches[alias]
        pool: Any = get_redis_connection(alias).connection_pool
    except Exception as error:  # any error of the settings: no such alias, another backend, a wrong path
        hint = 'Set MIRROR["ALIAS"] and MIRROR["RELAY_ALIAS"] to aliases of django-redis in CACHES.'
        yield Error(f"The cache alias {alias!r} cannot be used: {error}", hint=hint, id="mirror.E032")
        return
    if not isinstance(pool, MirrorPool):
        hint = 'Set CONNECTION_POOL_CLASS in its OPTIONS to "mirror.redis.MirrorPool".'
        yield Error(f"The cache alias {alias!r} has connections of another class.", hint=hint, id="mirror.E033")
        return
    if not isinstance(cache.client.connection_factory, PoolFactory):
        hint = 'Set CONNECTION_FACTORY in its OPTIONS to "mirror.redis.PoolFactory".'
        text = f"The cache alias {alias!r} may get the time-outs of another alias with the same URL."
        yield Warning(text, hint=hint, id="mirror.W033")
    seconds = pool.connection_kwargs.get("socket_timeout")
    if seconds is None or (alias == setting("ALIAS") and seconds > setting("DOCTOR_TIMEOUT_SECONDS")):
        hint = "Set SOCKET_TIMEOUT and SOCKET_CONNECT_TIMEOUT in its OPTIONS: about 0.3 for requests, 5 for the relay."
        text = f"The time-out of the cache alias {alias!r} is {'not set' if seconds is None else f'{seconds:g} s'}."
        yield Warning(text, hint=hint, id="mirror.W034")


def _check_redis(redis: RedisClient) -> list[CheckMessage]:
    try:
        return [
            _name_server(message, address)
            for address, server in list_servers(redis).items()
            for message in check_server(server.info(), of_cluster=is_cluster(redis))
        ]
    except RedisError as error:
        hint = "Start the server, or correct the LOCATION of the cache alias. SQL answers all reads meanwhile."
        return [Error(f"Redis does not answer: {error}", hint=hint, id=NO_REDIS)]


def _name_server(message: CheckMessage, address: str) -> CheckMessage:
    """Put the address of a master before a message."""
    if address:
        message.msg = f"{address}: {message.msg}"
    return message


def check_server(info: Mapping[str, Any], *, of_cluster: bool = False) -> Iterator[CheckMessage]:
    """Check a state server by its reply to INFO. of_cluster: it was named as a master of a cluster."""
    if info.get("cluster_enabled") and not of_cluster:
        hint = "Begin the URL with redis+cluster:// instead of redis://."
        yield Error(
            "The server belongs to a Redis Cluster, but its URL names a single one.", hint=hint, id="mirror.E036"
        )
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VERSION:
        hint = "Install Redis 6.2 or later, or Valkey."
        yield Error(f"Redis {version} is too old.", hint=hint, id="mirror.E037")
    if info.get("role", "master") != "master":
        hint = "Connect to its primary: the relay writes."
        yield Error("The server is a read-only replica.", hint=hint, id="mirror.E038")
    if (policy := info.get("maxmemory_policy", "noeviction")) != "noeviction":
        hint = "Set maxmemory-policy to noeviction, and keep caches on another server: evicted keys are lost unnoticed."
        yield Error(f"The server evicts keys (maxmemory-policy {policy}).", hint=hint, id="mirror.E039")
    if not info.get("aof_enabled", 1):
        hint = "Set appendonly to yes. Otherwise a crash loses backups that were not flushed, and mirrors are rebuilt."
        yield Warning("The server keeps no append-only file.", hint=hint, id="mirror.W035")


def _check_sql() -> list[CheckMessage]:
    using = setting("DATABASE")
    try:
        if unapplied := _find_unapplied(using):
            text = f"Migrations are not applied: {', '.join(unapplied)}."
            return [Error(text, hint="Run `manage.py migrate`.", id=NOT_MIGRATED)]
        return [
            *checks.check_triggers(databases=[using]),
            *checks.check_connection(databases=[using]),
            *checks.check_methods(databases=[using]),
            *checks.check_schemas(databases=[using]),
            *_check_layouts(),
            *_check_pooler(using),
            *_check_notices(using),
        ]
    except DatabaseError as error:
        hint = "Start the server, or correct DATABASES. Only warm mirrors answer reads meanwhile."
        return [Error(f"SQL does not answer: {error}", hint=hint, id=NO_SQL)]


def _find_unapplied(using: str) -> list[str]:
    executor = MigrationExecutor(connections[using])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def _check_layouts() -> Iterator[CheckMessage]:
    for name, recorded in layouts.find_outdated().items():
        text = f"This code has layout {registry.get(name).version} of mirror {name!r}, but SQL has layout {recorded}."
        hint = "Deploy the newer code, or run `manage.py migrate` if this code is the newer one."
        yield Error(text, hint=hint, id="mirror.E041")


def _check_pooler(using: str) -> Iterator[CheckMessage]:
    """Look for a pooler in transaction mode: it gives the session of an idle connection to another one."""
    connection = connections[using]
    if connection.vendor != "postgresql" or connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return
    before, other = _ask_session(connection), connection.copy()
    try:
        other.set_autocommit(False)  # its transaction keeps a session: with a pooler, the one that was free last
        _ask_session(other)
        after = _ask_session(connection)
    finally:
        other.close()
    if before != after:
        text = "Statements of one connection run in several sessions: a pooler in transaction mode."
        hint = "Set DISABLE_SERVER_SIDE_CURSORS to True in DATABASES, or use the pooler in session mode."
        yield Warning(text, hint=hint, id="mirror.W036")


def _check_notices(using: str) -> Iterator[CheckMessage]:
    if connections[using].vendor == "postgresql" and (reason := notices.explain_polling()):
        text = f"`mirror run` only polls for changes, every {setting('RUN_POLL_SECONDS'):g} s: {reason}."
        hint = "Nothing is lost. For notifications, connect it to PostgreSQL with psycopg 3 and without a pooler."
        yield Warning(text, hint=hint, id="mirror.W042")


def _ask_session(connection: BaseDatabaseWrapper) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _check_clocks(redis: RedisClient) -> Iterator[CheckMessage]:
    before = changes.clock()
    seconds, microseconds = redis.time()
    clock, after = seconds + microseconds / 1e6, changes.clock()
    difference = max(before - clock, clock - after)
    if difference > MAX_CLOCK_SECONDS:
        text = f"The clocks of SQL and Redis differ by {difference:.1f} s."
        hint = "Synchronize both servers (NTP). Backups and times in reports depend on the clocks."
        yield Warning(text, hint=hint, id="mirror.W037")


def _check_relay(redis: RedisClient) -> Iterator[CheckMessage]:
    swept, heartbeat = redis.mget([naming.clock(), naming.heartbeat()])
    age = changes.clock() - float(swept) if swept else None
    if age is None:
        yield Error("No relay has swept this Redis yet.", hint=RUN, id="mirror.E042")
    elif age > setting("DOCTOR_AGE_SECONDS"):
        yield Error(f"The last sweep of a relay was {age:.0f} s ago.", hint=RUN, id="mirror.E042")
    if heartbeat is None and registry.strict():
        text = "There is no fresh heartbeat of a relay, so readers of strict mirrors ask SQL for pending changes."
        yield Warning(text, hint=RUN, id="mirror.W038")


def _check_backlog() -> Iterator[CheckMessage]:
    found = statuses(count_rows=False)
    for status in found:
        if status.quarantined:
            text = f"Mirror {status.mirror!r} has quarantined changes: {status.quarantined}."
            hint = "Correct the cause (the admin shows the errors), then run `manage.py mirror drain --retry`."
            yield Error(text, hint=hint, id="mirror.E043")
        if status.oldest_pending_seconds > setting("DOCTOR_AGE_SECONDS"):
            text = f"Mirror {status.mirror!r} has {status.pending} pending changes, the oldest for"
            text += f" {status.oldest_pending_seconds:.0f} s."
            yield Warning(text, hint=f"{RUN} Its log names failing changes.", id="mirror.W039")
    # Other findings report missing triggers and other layouts.
    cold = {status.mirror: status for status in found if status.warm is False and not status.faults}
    if cold:
        text = f"SQL answers for cold mirrors: {', '.join(_explain_cold(s, cold) for s in cold.values())}."
        hint = "The relay rebuilds them; `manage.py mirror rebuild` does so at once."
        yield Warning(text, hint=hint, id="mirror.W040")


def _explain_cold(status: Status, cold: Iterable[str]) -> str:
    """Return the name of a cold mirror and why it is cold, if known."""
    if waits := [name for name in registry.ahead(status.mirror) if name in cold]:
        return f"{status.mirror} (waits for {', '.join(waits)})"
    if status.rebuilding_rows is not None:
        return f"{status.mirror} ({status.rebuilding_rows} rows rebuilt)"
    return status.mirror


def _check_marks() -> Iterator[CheckMessage]:
    for status in backup_status.statuses():
        if status.set_aside:
            text = f"SQL refuses items of backup {status.backup!r}: {status.set_aside}."
            hint = "`manage.py backup status` shows the errors; `manage.py backup flush` tries again."
            yield Error(text, hint=hint, id="mirror.E044")
        if (status.oldest_mark_seconds or 0) > setting("DOCTOR_AGE_SECONDS") + status.every_seconds:
            text = f"Backup {status.backup!r} was last flushed completely {status.oldest_mark_seconds:.0f} s ago."
            yield Warning(text, hint=RUN, id="mirror.W041")
