"""``manage.py mirror uninstall``: remove what the mirror created, in the order in which writes are never disturbed.

The triggers go first, because they write to the outbox. The tables follow, and then the keys, which the code would
fill again as long as it knew the tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from mirror import registry
from mirror.capture import install
from mirror.comparison import scan
from mirror.conf import setting
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.redis.keys import namespace
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.restore import is_relay_running
from mirror.visits import status as visits_status


class InUse(RuntimeError):
    """Data would be lost, or a process would create again what is removed."""


@dataclass(frozen=True)
class Remains:
    """What the mirror has in SQL and in Redis: names of triggers and tables, and the number of keys."""

    triggers: Sequence[str]
    tables: Sequence[str]
    keys: int

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return asdict(self)


def find() -> Remains:
    """Return what ``remove`` would remove."""
    capture = install.capture_for()
    with capture.connection.cursor() as cursor:
        present = set(capture.connection.introspection.table_names(cursor))
    tables = {str(model._meta.db_table) for model in apps.get_app_config("mirror").get_models()}
    with Session(relay_client()) as session:
        count = sum(map(len, _list_own_keys(session)))
    return Remains(triggers=sorted(capture.found()), tables=sorted(tables & present), keys=count)


def remove() -> None:
    """Remove triggers, tables and keys. Raises InUse before anything is removed."""
    redis = relay_client()
    _refuse_in_use(redis)
    install.uninstall()
    # Its signals find no outbox afterwards, and create no triggers.
    call_command("migrate", "mirror", "zero", database=changes.using(), interactive=False, verbosity=0)
    with Session(redis) as session:
        for found in _list_own_keys(session):
            if found:
                # UNLINK, because DEL of a large key would block the server.
                session.ask([("UNLINK", key) for key in found])


def list_manual_steps() -> list[str]:
    """Return the parts of the settings that still name the mirror."""
    steps = ['remove "mirror" from INSTALLED_APPS, and the mirrors.py and visits.py of your apps']
    if any(name.startswith("mirror.") for name in settings.MIDDLEWARE):
        steps.append('remove "mirror.middleware.ReadYourWrites" from MIDDLEWARE')
    if hasattr(settings, "MIRROR"):
        steps.append("remove MIRROR")
    pooled: list[str] = []
    for name, cache in settings.CACHES.items():
        if "mirror." in str(cache.get("OPTIONS", "")):
            pooled.append(name)
    if pooled:
        steps.append(f"remove the classes of mirror.redis from CACHES: {', '.join(pooled)}")
    steps.append("end `mirror run`, or remove the tasks mirror.tasks.* from the schedule of beat")
    steps.append("run `manage.py remove_stale_contenttypes` without the app")
    return steps


def _refuse_in_use(redis: RedisClient) -> None:
    """Raise InUse for the first reason not to remove the mirror."""
    executor = MigrationExecutor(connections[changes.using()])
    labels = {migration.app_label for migration, _ in executor.migration_plan([("mirror", None)])}
    others = sorted(labels - {"mirror"})
    if others:
        raise InUse(f"migrations of these apps depend on the mirror's, and would be undone too: {', '.join(others)}")
    waiting = [visits.kind for visits in visits_status.statuses(redis=redis) if visits.waiting]
    if waiting:
        raise InUse(f"SQL does not have all visits of {', '.join(waiting)}: let a relay run before")
    # It would create keys again while they are removed.
    if is_relay_running(redis):
        seconds = float(setting("HEARTBEAT_SECONDS"))
        raise InUse(f"a relay ran within the last {seconds:g} s: stop `mirror run`, workers and beat first")


def _list_own_keys(session: Session) -> Iterator[list[str]]:
    """Yield the mirrors' keys and the mirror's own ones."""
    mirrors = registry.all_mirrors()
    owned = [scan.Owned(mirror) for mirror in mirrors]
    feeds = {mirror.feed() for mirror in mirrors}

    def is_own(key: str) -> bool:
        if key in feeds:
            return True
        # Test runs remove their keys themselves.
        if key.startswith("mirror:") and not key.startswith(namespace.HEAD):
            return True
        return any(of_mirror.has(key) for of_mirror in owned)

    for found in scan.keys(session):
        distinct = dict.fromkeys(found)  # a scan may return a key twice
        yield list(filter(is_own, distinct))
