"""Workers notice that a trigger was dropped, and that it is back."""

import pytest
from redis import Redis

from mirror.capture import install
from mirror.redis import naming
from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.faults.tools import assert_comes_to_rest
from tests.support.mirror.outbox import run
from tests.support.servers import wait_until

ITEM = Item._meta.db_table


@pytest.mark.slow
def test_writes_without_a_trigger_reach_redis_after_its_return(crew: Crew, state: Redis, still: list[Item]) -> None:
    found = install.capture_for()
    again = found.create(found.found()[f"mirror_{ITEM}_update"])
    crew.worker()
    crew.beat()
    wait_until(lambda: state.get(naming.clock()) is not None, "the first sweep")
    run(f"DROP TRIGGER mirror_{ITEM}_update ON {ITEM}")
    try:
        wait_until(lambda: state.get(naming.marker("titem")) is None, "the mirror is cold")
        Item.objects.update(score=77)
    finally:
        run(*again)
    wait_until(lambda: state.get(naming.marker("titem")) is not None, "the mirror is warm")
    assert_comes_to_rest(state)
