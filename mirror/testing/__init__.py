"""For the tests of sites that use ``mirror``: drain on demand, also inside the transaction of a TestCase.

``mirror.testing.plugin`` has the same as a fixture for pytest.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.test import override_settings

from mirror import registry
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import breaker, relay_client
from mirror.redis.keys import namespace, prefix
from mirror.redis.types import RedisClient
from mirror.relay import drains
from mirror.testing.warm import make_warm
from mirror.upkeep import rebuild, replay
from mirror.warm import marker, triggers

Drain = Callable[[], int]
STEP = 1000  # keys removed in one command

__all__ = ["MirrorTestMixin", "drain_mirrors"]


def drain_mirrors() -> int:
    """Rebuild cold mirrors, and apply all pending changes. Return the number of applied changes.

    It may run in the transaction of a TestCase. Raises ProgrammingError in a transaction inside it, as in production.
    """
    _refuse_inner_transaction()
    with changes.within_test():
        _warm_all(relay_client())
        return drains.drain_all()


def _warm_all(redis: RedisClient) -> None:
    """Make all mirrors warm: quickly at a test's first drain, and by rebuilds if something made them cold later."""
    mirrors = sorted(registry.all_mirrors(), key=rebuild.order)
    names = [mirror.name for mirror in mirrors]
    if not names:
        return
    found = redis.mget([naming.marker(name) for name in names])
    if marker.generations(redis, names, found) is not None:
        return
    replay.check(redis)
    touched = _find_touched(redis)
    make_warm([mirror for mirror in mirrors if mirror.name not in touched], redis)
    for name in names:
        if name in touched:
            rebuild.rebuild_if_cold(name)


def _find_touched(redis: RedisClient) -> set[str]:
    """Return the mirrors that were warm before, or have to be rebuilt: Redis may have keys of theirs."""
    rebuilt = State.objects.using(changes.using()).exclude(rebuild_token="", rebuild_rows=0)
    ordered = Change.objects.pending().filter(key=changes.WHOLE)
    touched = set(rebuilt.values_list("mirror", flat=True))
    # Before the query for ordered rebuilds, because it may order some
    touched.update(triggers.check(redis))
    touched.update(ordered.values_list("mirror", flat=True))
    return touched


def _refuse_inner_transaction() -> None:
    blocks = connections[changes.using()].atomic_blocks
    # Django's mark of a TestCase's own transactions
    is_of_testcase = bool(blocks) and getattr(blocks[-1], "_from_testcase", False)
    if not is_of_testcase:
        changes.refuse_transaction()


@contextmanager
def own_mirrors() -> Generator[None, None, None]:
    """Let a test begin with empty mirrors, and remove its keys afterwards, because a rollback does not.

    Requests inside the block drain nothing: only ``drain_mirrors`` does.
    """
    _remove_keys()
    own = dict(getattr(settings, "MIRROR", {}))
    own["BUDGET_SECONDS"] = 0.0
    try:
        with override_settings(MIRROR=own):
            yield
    finally:
        _remove_keys()


def _remove_keys() -> None:
    """Remove the keys of this test run. Raises ImproperlyConfigured outside of a test database."""
    # This enters the namespace of the test database.
    prefix.current()
    if not namespace.current():
        raise ImproperlyConfigured("mirror.testing needs a test database: otherwise it would remove the site's keys.")
    breaker.reset()
    redis = relay_client()
    found = list(redis.scan_iter(count=STEP))
    for start in range(0, len(found), STEP):
        redis.unlink(*found[start : start + STEP])


class MirrorTestMixin:
    """For TestCase and TransactionTestCase: each test begins with empty mirrors, and drains with ``drain_mirrors``."""

    def setUp(self) -> None:
        test: Any = self
        test.enterContext(own_mirrors())
        super().setUp()  # type: ignore[misc]

    def drain_mirrors(self) -> int:
        """Rebuild cold mirrors, and apply all pending changes of this test. Return the number of applied changes."""
        return drain_mirrors()
