"""Fixtures: real processes, and a mirror that is warm at the start."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.faults.tools import make_still
from tests.support.fixtures import use_broker
from tests.support.mirror import world
from tests.support.servers import PATIENCE_SECONDS, RedisServer
from tests.support.timeouts import ShortTimeouts
from tests.support.timings import Timings

# Small batches give many moments to be killed at. Without slack, a replay depends on exact marks.
SMALL: dict[str, object] = {"CHUNK": 100, "BATCH": 100, "SLACK_SECONDS": 0}


@pytest.fixture(autouse=True)
def unhurried(timings: Timings) -> None:
    """Extend the budget of sweeps in this process, for slow machines."""
    timings(SWEEP_BUDGET_SECONDS=PATIENCE_SECONDS)


@pytest.fixture
def small_steps(settings: Settings) -> dict[str, object]:
    """Apply the mirror's settings of the child processes in this process."""
    settings.MIRROR = {**settings.MIRROR, **SMALL}
    return dict(SMALL)  # a test that removes a setting removes it from its own copy


@pytest.fixture
def crew(
    redis_server: RedisServer, environment: dict[str, str], small_steps: dict[str, object], tmp_path: Path
) -> Iterator[Crew]:
    """Return child processes on the test's Redis and database. They are killed afterwards."""
    made = Crew(
        {
            **environment,
            **redis_server.environment(),
            "CELERY_BROKER_URL": os.environ["CELERY_BROKER_URL"],
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "MIRROR_SETTINGS": json.dumps(small_steps),
        },
        tmp_path,
        redis_server,
    )
    yield made
    made.kill_all()
    made.show()


@pytest.fixture
def broker_server(redis_server: RedisServer, short_timeouts: ShortTimeouts) -> Iterator[RedisServer]:
    """Return a separate server for the broker. State and cache stay on ``redis_server``. Request it before ``crew``."""
    before = os.environ["CELERY_BROKER_URL"]
    with RedisServer(on_hang=short_timeouts) as mine:
        use_broker(f"redis+socket://{mine.socket}?virtual_host=2")
        yield mine
        mine.thaw()
        use_broker(before)


@pytest.fixture
def state(redis_server: RedisServer) -> Iterator[Redis]:
    """Return a client of the test's server that bypasses the mirror's pools."""
    with redis_server.client() as client:
        yield client


@pytest.fixture
def still(redis_server: RedisServer, small_steps: dict[str, object], transactional_db: None) -> list[Item]:
    """Return 300 rows that are not written during the test, in a warm mirror."""
    items = make_still()
    world.warm()
    return items
