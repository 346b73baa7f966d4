"""Killed flushes and a killed Redis lose nothing that Redis kept."""

import signal
from functools import partial

import pytest
from redis import Redis

from mirror.backup.flush import flush
from tests.support.faults.backups import Shoppers, assert_comes_to_rest
from tests.support.faults.crew import ALONE, Crew
from tests.support.faults.tools import again_and_again
from tests.support.mirror.app.backups import baskets, best
from tests.support.mirror.backup_world import lines, marked
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until

pytestmark = pytest.mark.on_postgres

KILLS = 4
# Before the second batch is claimed, checked or cleared.
MOMENTS = ("mirror.backup.marks.oldest 2", "mirror.backup.marks.versions 2", "mirror.backup.marks.clear 2")
# Whether SQL has the items, and whether they are marked, after a flush was killed before the step.
AFTER = {
    "claim": (False, True),
    "read": (False, True),
    "check": (False, True),
    "save": (False, True),
    "keep": (True, True),
    "clear": (True, True),
}


@pytest.mark.parametrize("step", AFTER)
def test_flush_killed_before_any_step_is_completed_by_the_next(step: str, crew: Crew, state: Redis) -> None:
    shoppers = Shoppers(1, state, size=5)
    for _ in range(10):
        shoppers.write()
    child = crew.start("flusher", f"tests.support.faults.flusher tbasket {step}")
    assert child.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert (bool(lines()), bool(marked(state, baskets()))) == AFTER[step]
    flush(baskets())
    assert marked(state, baskets()) == set()
    assert lines() == shoppers.baskets


@pytest.mark.slow
def test_workers_killed_during_flushes_lose_nothing(crew: Crew, state: Redis) -> None:
    shoppers = Shoppers(2, state)
    crew.beat()
    for moment in MOMENTS:
        for _ in range(400):
            shoppers.write()
        crew.kill_standing("worker", ALONE, moment)
        assert marked(state, best()) | marked(state, baskets())
    crew.worker()
    assert_comes_to_rest(shoppers)


@pytest.mark.slow
def test_redis_killed_under_load_loses_no_acknowledged_write(
    crew: Crew, state: Redis, redis_server: RedisServer
) -> None:
    """With ``appendfsync always``, Redis keeps everything that it acknowledged."""
    redis_server.options["appendfsync"] = "always"
    redis_server.restart()
    crew.worker()
    crew.beat()
    shoppers = Shoppers(4, state)
    with again_and_again(shoppers.write):
        for _ in range(KILLS):
            wait_until(partial(_has_written, shoppers, shoppers.writes + 50), "some writes")
            redis_server.kill()
            wait_until(partial(_has_failed, shoppers, shoppers.failures + 1), "a write while Redis is away")
            redis_server.start()
    assert_comes_to_rest(shoppers)


def _has_written(shoppers: Shoppers, count: int) -> bool:
    return shoppers.writes >= count


def _has_failed(shoppers: Shoppers, count: int) -> bool:
    return shoppers.failures >= count
