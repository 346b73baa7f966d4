"""Bulk load: millions of new rows without a change for each, while their mirrors are cold.

A transaction of the load appends changes of everything, so it is captured like any other write: after a kill at any
moment the relay finds these changes and rebuilds the mirrors. Other writers are captured as usual. The mirrors are made
cold before the first row, and their leases keep other processes from rebuilding them during the load. That only saves
work, because a mirror that becomes warm too early is made cold again by the changes of the next transaction.
"""

import logging
from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from django.db import transaction
from django.db.models import Model

from mirror import registry
from mirror.capture import install
from mirror.capture.statements import find_filled_mirrors
from mirror.outbox import changes
from mirror.redis.clients import work_or_wait
from mirror.redis.lease import lease
from mirror.redis.types import RedisClient
from mirror.upkeep import rebuild
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.warm import cold

__all__ = ["bulk_load"]
logger = logging.getLogger("mirror")
AWAY: Final = "Redis is away, the relay will rebuild what is loaded: %s"


class BulkLoad:
    """A bulk load in progress."""

    def __init__(self, tables: Collection[str]) -> None:
        self._tables = tables

    @contextmanager
    def atomic(self) -> Generator[None, None, None]:
        """Run a transaction whose inserts into the tables are not captured row by row.

        All other writes are, also those to these tables outside of this block, and updates and deletions.
        """
        using = changes.using()
        capture = install.capture_for(using)
        with transaction.atomic(using=using):
            capture.begin_bulk_load(self._tables)
            yield
            # A caller's transaction may go on after this block. A rollback ends the load by itself.
            capture.end_bulk_load(self._tables)


@contextmanager
def bulk_load(
    *models: type[Model], progress: ProgressCallback = ignore, redis: RedisClient | None = None
) -> Generator[BulkLoad, None, None]:
    """Load many new rows of these models, and rebuild the mirrors that they concern once, at the end.

    The mirrors are cold from the first row on, and SQL answers. They stay cold after an error, until the relay rebuilds
    them. ``progress`` is called as by a rebuild. Without Redis, the relay rebuilds them when it returns.

    Raises InTransaction inside of a transaction, because the rebuild would not see the rows.
    """
    changes.refuse_transaction()
    tables = {str(model._meta.db_table) for model in models}
    names = find_filled_mirrors(tables)
    # Durable before Redis is asked: after a kill, or without Redis, the relay makes the mirrors cold.
    install.made(names, changes.using())
    with ExitStack() as leases:
        work_or_wait(partial(_make_cold, names, leases), None, logger, AWAY, redis=redis)
        yield BulkLoad(tables)
    if names:
        work_or_wait(partial(_rebuild, names, progress), None, logger, AWAY, redis=redis)


def _make_cold(names: Collection[str], leases: ExitStack, redis: RedisClient) -> None:
    """Make the mirrors cold, and take the leases that a rebuild of them needs, as far as they are free."""
    for name in names:
        leases.enter_context(lease(redis, rebuild.name_lease(name)))
    cold.make_all_cold(registry.add_dependents(names), redis)


def _rebuild(names: Collection[str], progress: ProgressCallback, redis: RedisClient) -> None:
    rebuild.rebuild(registry.add_dependents(names), progress=progress, redis=redis)
