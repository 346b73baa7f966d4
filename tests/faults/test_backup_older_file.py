"""After Redis returned empty or from an older append-only file, values in SQL are neither overwritten nor hidden."""

from pathlib import Path

import pytest
from redis import Redis

from mirror.backup.flush import flush
from mirror.backup.registry import get
from mirror.backup.sweep import sweep
from tests.faults.test_older_file import Past
from tests.support.faults.backups import Shoppers, assert_comes_to_rest, is_at_rest
from tests.support.faults.crew import Crew
from tests.support.mirror.backup_world import marked
from tests.support.servers import RedisServer

pytestmark = pytest.mark.on_sqlite


def flush_both() -> None:
    for name in ("tbest", "tbasket"):
        flush(get(name))


@pytest.fixture
def shoppers(state: Redis, crew: Crew) -> Shoppers:
    """Write values, sweep, and write some more, which are still marked."""
    made = Shoppers(5, state, size=50)
    for _ in range(100):
        made.write()
    sweep()
    for _ in range(20):
        made.write()
    return made


def test_marks_from_an_older_file_overwrite_nothing_newer(
    shoppers: Shoppers, redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    past = Past(redis_server, tmp_path)
    for _ in range(100):
        shoppers.write()
    flush_both()
    past.comes_back()
    assert marked(state, get("tbasket"))
    shoppers.look()
    flush_both()
    shoppers.look()
    sweep()
    assert is_at_rest()
    assert_comes_to_rest(shoppers)


@pytest.mark.parametrize("how", ["older", "empty"])
def test_writes_after_a_loss_keep_the_flushed_values(
    how: str, shoppers: Shoppers, redis_server: RedisServer, state: Redis, crew: Crew, tmp_path: Path
) -> None:
    past = Past(redis_server, tmp_path)
    for _ in range(100):
        shoppers.write()
    flush_both()
    if how == "older":
        past.comes_back()
    else:
        state.flushall()
    for _ in range(100):
        shoppers.write()
    shoppers.look()
    crew.worker()
    crew.beat()
    assert_comes_to_rest(shoppers)


@pytest.mark.slow
def test_redis_that_reverts_repeatedly_under_load_hides_no_flushed_value(
    shoppers: Shoppers, redis_server: RedisServer, crew: Crew, tmp_path: Path
) -> None:
    """Values flushed before the reversal are kept, and readers and writers see them at once."""
    crew.worker()
    crew.beat()
    for time in range(3):
        past = Past(redis_server, tmp_path / str(time))
        for _ in range(100):
            shoppers.write()
        flush_both()
        past.comes_back()
        for _ in range(50):
            shoppers.write()
        shoppers.look()
    assert_comes_to_rest(shoppers)
