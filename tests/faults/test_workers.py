"""Workers that are killed during a batch lose time and nothing else."""

import signal
from functools import partial

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from redis import Redis

from mirror.models import Change, State
from mirror.relay import drains
from mirror.upkeep import rebuild
from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import ALONE, Crew
from tests.support.faults.tools import Storm, assert_comes_to_rest, assert_exact
from tests.support.mirror import world
from tests.support.servers import PATIENCE_SECONDS, wait_until

# Before the second batch, or one of the last, is marked. Every run has enough batches for this.
MOMENTS = ("mirror.outbox.chains.mark 2", "mirror.relay.apply.RedisDrain.finish 3", "mirror.outbox.chains.mark 4")
CUTS = 6
# Whether Redis has been written to, and whether changes are pending, after a drain was killed before the step.
AFTER = {
    "watch": (False, True),
    "read": (False, True),
    "write": (False, True),
    "mark": (True, True),
    "done": (True, False),
}


@pytest.mark.slow
def test_repeatedly_killed_workers_leave_no_change_pending(crew: Crew, state: Redis) -> None:
    """Each kill interrupts rows of its own, so no later work can repair an earlier loss."""
    storm = Storm(seed=1, size=1500)
    storm.create()
    world.warm()
    crew.beat()
    for kill, moment in enumerate(MOMENTS):
        for strike in (storm.link, storm.follow, storm.delete, storm.rename) if kill == 0 else ():
            strike()
        storm.third(kill).update(score=F("score") + 1)
        crew.kill_standing("worker", ALONE, moment)
        assert Change.objects.pending().exists()
    crew.worker()
    assert_comes_to_rest(state)


@pytest.mark.slow
def test_workers_with_repeatedly_cut_database_connections_leave_no_change_pending(crew: Crew, state: Redis) -> None:
    storm = Storm(seed=11, size=1500)
    storm.create()
    world.warm()
    crew.worker()
    crew.beat()
    for cut in range(CUTS):
        storm.third(cut).update(score=F("score") + 1)
        wait_until(partial(_at_most_pending, Change.objects.pending().count() * 0.7), "the middle of the work")
        wait_until(_cut_connections, "a connection to cut")  # workers have connections while they work
    assert_comes_to_rest(state)


def _cut_connections() -> int:
    """Close all other connections to the test database. Return their number."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(PG_TERMINATE_BACKEND(pid)) FROM pg_stat_activity"
            " WHERE datname = CURRENT_DATABASE() AND pid <> PG_BACKEND_PID()"
        )
        return int(cursor.fetchone()[0])


def _at_most_pending(count: float) -> bool:
    return Change.objects.pending().count() <= count


def test_killed_rebuild_continues_at_its_position(crew: Crew, state: Redis) -> None:
    Storm(seed=3, size=2000).create()
    rebuilding = State.objects.filter(mirror="titem", rebuild_cursor__isnull=False)
    crew.kill_standing("rebuild", "django mirror rebuild titem", "mirror.relay.apply.start 5")
    stopped = rebuilding.get()
    assert 0 < stopped.rebuild_rows < 2000
    done: list[int] = []
    [rebuilt] = rebuild.rebuild(["titem"], progress=lambda name, rows: done.append(rows))
    assert sum(done) == 2000 - stopped.rebuild_rows
    assert rebuilt.rows == 2000
    rebuild.rebuild(["tgroup", "tfollow", "latest"])
    assert_exact(state)


@pytest.mark.parametrize("step", AFTER)
def test_drain_killed_before_any_step_is_harmless(crew: Crew, state: Redis, step: str) -> None:
    Storm(seed=4, size=50).create()
    world.warm()
    Item.objects.filter(pk__gt=0).update(name=Concat(Value("new "), "name"))
    before = world.dump(state)
    child = crew.start("drain", f"tests.faults.children drain {step} 1")
    assert child.wait(PATIENCE_SECONDS) == -signal.SIGKILL, crew.said("drain")
    written, pending = world.dump(state) != before, Change.objects.pending().filter(mirror="titem").exists()
    assert (written, pending) == AFTER[step]
    drains.drain_all()
    assert_exact(state)
