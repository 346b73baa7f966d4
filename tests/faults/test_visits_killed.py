"""Killed consumers and a killed Redis neither lose nor double a visit that Redis kept."""

import signal
from itertools import count

import pytest
from redis import Redis
from redis.exceptions import RedisError

from mirror.conf import setting
from mirror.visits import consume, statuses
from mirror.visits.consumer import GROUP
from tests.faults.test_older_file import Past
from tests.projects.mirrortest.models import Visited
from tests.projects.mirrortest.visits import look, pages
from tests.support.faults.crew import ALONE, Crew
from tests.support.faults.tools import again_and_again
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until

# Whether SQL has the first batch after a consumer was killed in it.
AFTER = {"read": False, "save": False, "commit": False, "remove": True}


class Visitors:
    """Visitors that repeat no visit, and remember which visits Redis has acknowledged."""

    def __init__(self, server: Redis) -> None:
        self.server, self.numbers = server, count()
        self.taken, self.refused = list[str](), list[str]()

    def look(self) -> None:
        """Visit a page that nobody else visits."""
        page = f"{next(self.numbers):06}"
        try:
            look(self.server, page)
        except RedisError:
            self.refused.append(page)
        else:
            self.taken.append(page)

    def look_often(self, times: int) -> None:
        """Visit so many pages."""
        for _ in range(times):
            self.look()


def written() -> list[str]:
    return sorted(Visited.objects.values_list("page", flat=True))


def is_consumed() -> bool:
    """Return whether no visit waits."""
    return not next(status.waiting for status in statuses() if status.kind == pages.name)


@pytest.mark.parametrize("step", AFTER)
@pytest.mark.parametrize("batch", [1, 2])
def test_a_consumer_killed_at_any_step_loses_and_doubles_nothing(
    step: str, batch: int, crew: Crew, state: Redis
) -> None:
    visitors, size = Visitors(state), int(setting("CHUNK"))
    visitors.look_often(size + 10)
    number = batch + (step == "read")  # pending entries are read first, and there are none
    child = crew.start("consumer", f"tests.faults.children consume {step} {number}")
    assert child.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert len(written()) == {1: 0, 2: size}[batch] + AFTER[step] * {1: size, 2: 10}[batch]
    visitors.look()
    consume(pages)
    assert written() == visitors.taken
    assert (state.xlen(pages.keys[0]), state.xpending(pages.keys[0], GROUP)["pending"]) == (0, 0)


@pytest.mark.slow
def test_killed_workers_lose_and_double_nothing(crew: Crew, state: Redis) -> None:
    visitors = Visitors(state)
    crew.beat()
    for number in (1, 2, 3):
        visitors.look_often(300)
        crew.kill_standing("worker", ALONE, f"tests.projects.mirrortest.visits.save_rows {number}")
    crew.worker()
    wait_until(is_consumed, "the visits are written")
    assert written() == visitors.taken


@pytest.mark.slow
def test_redis_killed_under_load_loses_no_acknowledged_visit(
    crew: Crew, state: Redis, redis_server: RedisServer
) -> None:
    """With ``appendfsync always``, Redis keeps everything that it acknowledged."""
    redis_server.options["appendfsync"] = "always"
    redis_server.restart()
    crew.worker()
    crew.beat()
    visitors = Visitors(state)
    with again_and_again(visitors.look):
        for _ in range(3):
            before = len(visitors.taken)
            wait_until(lambda before=before: len(visitors.taken) > before + 50, "visits")  # type: ignore[misc]
            redis_server.kill()
            refused = len(visitors.refused)
            wait_until(lambda refused=refused: len(visitors.refused) > refused, "a refusal")  # type: ignore[misc]
            redis_server.start()
            crew.let_go()
    wait_until(is_consumed, "the visits are written")
    found = written()
    assert len(found) == len(set(found))
    assert set(visitors.taken) <= set(found) <= {*visitors.taken, *visitors.refused}


@pytest.mark.only_on("sqlite")
def test_an_older_file_brings_entries_back_that_are_not_written_again(
    crew: Crew, state: Redis, redis_server: RedisServer, tmp_path: object
) -> None:
    visitors = Visitors(state)
    visitors.look_often(50)
    consume(pages)
    visitors.look_often(50)
    past = Past(redis_server, tmp_path)  # type: ignore[arg-type]
    visitors.look_often(50)
    consume(pages)
    past.comes_back()
    visitors.look_often(50)
    consume(pages)
    assert written() == visitors.taken
