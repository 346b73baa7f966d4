"""Fallbacks that a read replica of SQL may answer (``MIRROR["REPLICA"]``), because old data does no harm in them.

>>> if found is None:
...     return ask_sql(["book"], lambda: load_book(7))

For callers with heavy statements of public pages. No database router does this, because routers ignore raw cursors and
know no mirrors. Drains, rebuilds and verifications never use the replica.
"""

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from django.db import Error as DatabaseError

from mirror import registry
from mirror.conf import setting, use_database
from mirror.redis.circuit_breaker import Breaker
from mirror.relay import sql_only
from mirror.utils.commit import is_in_transaction
from mirror.utils.counters import count
from mirror.utils.failure_log import FailureLog

REPLICA_BREAKER_SECONDS: Final = 10.0  # how long the read replica is left alone after a failure

T = TypeVar("T")
_from_primary: ContextVar[bool] = ContextVar("from_primary", default=False)
breaker = Breaker(duration=lambda: REPLICA_BREAKER_SECONDS)
failures = FailureLog(logging.getLogger("mirror"))


@contextmanager
def read_from_primary() -> Generator[None, None, None]:
    """Let the mirrored database answer all fallbacks in the block, because old data would do harm (a price)."""
    token = _from_primary.set(True)
    try:
        yield
    finally:
        _from_primary.reset(token)


def ask_sql(mirrors: Sequence[str], load: Callable[[], T]) -> T:
    """Return ``load()``, asked of the read replica if its data may be old, and otherwise of the mirrored database.

    mirrors: those whose data ``load`` replaces. load: only reads, with loaders that use ``mirror.conf.database()``; if
    the replica fails, it is called again for the mirrored database.
    """
    if not _may_lag(mirrors):
        with use_database(None):
            return load()
    alias = str(setting("REPLICA"))
    try:
        with use_database(alias):
            found = load()
    except DatabaseError as error:
        # The replica is away, too slow, or without the tables of the last migration.
        breaker.failed()
        count("replica_reads", 1, outcome="failed")
        failures.add(alias, "The read replica did not answer, the primary does: %s", error, level=logging.WARNING)
    else:
        count("replica_reads", 1, outcome="answered")
        failures.end(alias, "The read replica answers again")
        return found
    with use_database(None):
        return load()


def _may_lag(mirrors: Sequence[str]) -> bool:
    """Return whether a replica may answer: in a request that sees no access rights, no own write and no transaction."""
    return (
        setting("REPLICA") is not None
        and sql_only.in_request()
        and not (_from_primary.get() or sql_only.wanted() or sql_only.has_written() or breaker.open())
        and not any(map(registry.is_strict, mirrors))
        and not is_in_transaction(setting("DATABASE"))
    )
