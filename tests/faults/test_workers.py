"""Workers that are killed in the middle of a batch lose time, and nothing else."""

import random
import signal
import time
from functools import partial

import pytest
from django.db.models import Value
from django.db.models.functions import Concat
from redis import Redis

from mirror import rebuild, relay
from mirror.models import Change, State
from tests.faults.tools import Crew, Storm, assert_comes_to_rest, assert_exact
from tests.mirror import world
from tests.mirror.app.models import Item
from tests.servers import wait_until

KILLS = 3
# Whether Redis was written to, and whether changes are pending, when a drain dies before a step.
AFTER = {
    "watch": (False, True),
    "read": (False, True),
    "write": (False, True),
    "mark": (True, True),
    "done": (True, False),
}


@pytest.mark.slow
def test_workers_killed_again_and_again_leave_nothing_undone(crew: Crew, state: Redis) -> None:
    world.warm()
    storm, moments, hit = Storm(seed=1), random.Random(2), 0
    crew.beat()
    for _ in range(KILLS):
        storm.create()
        for _ in range(6):
            storm.strike()
        begun = partial(_fewer_than, Change.objects.pending().count())
        crew.worker()
        wait_until(begun, "the start of a batch")
        time.sleep(moments.uniform(0, 0.3))  # any moment will do
        crew.kill("worker")
        crew.let_go()
        hit += Change.objects.pending().exists()
    assert hit, "no worker was killed while it had work to do"
    crew.worker()
    assert_comes_to_rest(state)


def _fewer_than(count: int) -> bool:
    return Change.objects.pending().count() < count


def test_a_killed_rebuild_goes_on_where_it_was(crew: Crew, state: Redis) -> None:
    Storm(seed=3, size=2000).create()
    rebuilding = State.objects.filter(mirror="titem", rebuild_cursor__isnull=False)
    crew.start("rebuild", "django mirror rebuild titem")
    wait_until(rebuilding.exists, "the middle of a rebuild")
    crew.kill("rebuild")
    crew.let_go()
    stopped = rebuilding.get()
    assert 0 < stopped.rebuild_rows < 2000
    done: list[int] = []
    [rebuilt] = rebuild.rebuild(["titem"], progress=lambda name, rows: done.append(rows))
    assert sum(done) == 2000 - stopped.rebuild_rows
    assert rebuilt.rows == 2000
    rebuild.rebuild(["tgroup", "tfollow", "latest"])
    assert_exact(state)


@pytest.mark.parametrize("step", AFTER)
def test_a_drain_that_is_killed_at_any_step_is_harmless(crew: Crew, state: Redis, step: str) -> None:
    Storm(seed=4, size=50).create()
    world.warm()
    Item.objects.filter(pk__gt=0).update(name=Concat(Value("new "), "name"))
    before = world.dump(state)
    child = crew.start("drain", f"tests.faults.drainer die {step}")
    assert child.wait(60) == -signal.SIGKILL, crew.said("drain")
    written, pending = world.dump(state) != before, Change.objects.pending().filter(mirror="titem").exists()
    assert (written, pending) == AFTER[step]
    relay.drain_all()
    assert_exact(state)
