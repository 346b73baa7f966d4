"""A day without Redis, compressed: every write waits in the outbox, and is drained and verified when Redis is back."""

from typing import Final

import pytest
from django.db import connection
from django.db.models import F
from pytest_django.fixtures import Settings

from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import breaker, relay_client
from mirror.upkeep import sweeper
from mirror.verify import runs
from mirror.warm import marker
from tests.projects.mirrortest.models import Item
from tests.support import warm_mirrors
from tests.support.mirror import world
from tests.support.servers import PATIENCE_SECONDS, RedisServer
from tests.support.timings import Timings

pytestmark = pytest.mark.also_on("cluster")

ROWS: Final = 1_500
SAVED: Final = 30
MAX_BYTES: Final = 400  # of a change, with its indexes; half of it after a million changes


def measure_outbox() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('mirror_change')")
        return int(cursor.fetchone()[0])


@pytest.mark.usefixtures("committed")
def test_a_day_without_redis_is_drained_and_verified(
    redis_server: RedisServer, settings: Settings, timings: Timings, postgres: bool
) -> None:
    timings(SWEEP_BUDGET_SECONDS=PATIENCE_SECONDS)
    Item.objects.bulk_create(Item(pk=pk, name=f"old {pk}") for pk in range(1, ROWS + 1))
    world.warm_own()
    sweeper.sweep()
    redis_server.kill()
    size = measure_outbox() if postgres else 0
    Item.objects.bulk_create(Item(pk=pk, name=f"new {pk}") for pk in range(ROWS + 1, 2 * ROWS + 1))
    for item in Item.objects.filter(pk__lte=SAVED):
        item.name = f"saved {item.pk}"
        item.save()
    Item.objects.update(score=F("score") + 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE mirrortest_item SET name = name || '.' WHERE id > %s", [SAVED])
        cursor.execute("DELETE FROM mirrortest_item WHERE id > %s", [2 * ROWS - SAVED])
    pending = Change.objects.pending()
    assert pending.filter(mirror="titem").count() == ROWS + SAVED + 2 * ROWS + (2 * ROWS - SAVED) + SAVED
    if postgres:
        assert measure_outbox() - size < MAX_BYTES * pending.count()

    redis_server.start()
    breaker.reset()
    sweeper.sweep()
    assert not pending.exists()
    assert all(marker.is_warm(relay_client(), name) for name in warm_mirrors.OWN)  # no rebuild was needed
    assert list(runs.verify(warm_mirrors.OWN)) == []
    with redis_server.client() as redis:
        assert world.dump(redis) == world.by_orm()
    settings.MIRROR = {**settings.MIRROR, "KEEP_SECONDS": 0}
    for _ in range(1 + Change.objects.count() // changes.PURGE):
        sweeper.sweep()
    # The witness stays, and with it changes of higher ids that were applied before it.
    witness = Change.objects.order_by("-applied_at").first()
    assert witness is None or not Change.objects.filter(pk__lt=witness.pk).exists()
    assert Change.objects.count() <= 2
