"""Restoring a copy of the site."""

from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.core.management import call_command
from django.db import connections

from config.copies.databases import get_database
from config.copies.manifest import CopyError, Manifest
from mirror.conf import setting
from mirror.redis import RedisClient, relay_client
from mirror.restore import fill_redis, forget_history, is_relay_running
from mirror.utils import ProgressCallback, ignore
from mirror.visits import statuses

# A new site has rows of these applications: permissions, roles, and the state of mirrors.
FILLED_BY_MIGRATE: Final = {"auth", "contenttypes", "mirror"}
STEP: Final = 1000  # keys in one command


def restore_site(folder: Path, *, replace: bool = False, progress: ProgressCallback = ignore) -> Manifest:
    """Replace SQL by the copy in this folder, empty Redis, and fill it from SQL. Return the copy's manifest.

    replace: allow it although the site has data, which is lost. Before the first change, everything is checked: raises
    CopyError, and the errors of redis-py and Django. After a failure later on, the same command with ``replace`` starts
    over.
    """
    alias, redis = str(setting("DATABASE")), relay_client()
    manifest, database = Manifest.read(folder), get_database(alias)
    if manifest.vendor != connections[alias].vendor:
        raise CopyError(f"{folder} is a backup of {manifest.vendor}, and this site uses {connections[alias].vendor}")
    manifest.check_migrations()
    database.check_tools()
    _refuse_running_site(redis)
    if not replace:
        _refuse_data(alias, redis)
    _remove_keys(redis)  # first, because Redis must not be newer than SQL after a crash
    database.load(folder / manifest.file)
    forget_history()
    call_command("migrate", database=alias, interactive=False, verbosity=0)
    fill_redis(redis, progress)
    return manifest


def _refuse_running_site(redis: RedisClient) -> None:
    if is_relay_running(redis):
        seconds = float(setting("HEARTBEAT_SECONDS"))
        raise CopyError(f"a relay ran within the last {seconds:g} s: stop web, workers and beat first")


def _refuse_data(alias: str, redis: RedisClient) -> None:
    """Raise CopyError, which names the first data that a restore would destroy."""
    connection: Any = connections[alias]
    tables = set(connection.introspection.table_names())
    for model in apps.get_models(include_auto_created=True):
        own = model._meta.managed and model._meta.app_label not in FILLED_BY_MIGRATE
        if own and model._meta.db_table in tables and model._base_manager.using(alias).exists():
            raise CopyError(f"the site is not empty: the table {model._meta.db_table} has rows. --replace deletes them")
    for visits in statuses(redis=redis):
        if visits.waiting:
            raise CopyError(f"the site is not empty: Redis has visits of {visits.kind}. --replace deletes them")


def _remove_keys(redis: RedisClient) -> None:
    """Remove every key with the site's prefix from the state server."""
    pipe = redis.pipeline(transaction=False)
    for key in redis.scan_iter(count=STEP):
        pipe.unlink(key)
        if len(pipe) >= STEP:
            pipe.execute()
    pipe.execute()
