"""Fixtures: a crew of real processes, and a mirror that is warm to begin with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from tests.faults.tools import Crew
from tests.mirror import world
from tests.mirror.app.models import Item
from tests.servers import RedisServer

# A killed worker's lease runs out within a second, so that the tests need not wait for it; small steps, to
# be killed between; and no slack, so that a replay is only as good as the mark.
HASTY = {"LEASE_SECONDS": 1.0, "CHUNK": 100, "BATCH": 100, "SLACK_SECONDS": 0}


@pytest.fixture
def hasty(settings: Settings) -> dict[str, object]:
    """Short leases and small steps, in this process; the crew has them too."""
    settings.MIRROR = {**settings.MIRROR, **HASTY}
    return HASTY


@pytest.fixture
def crew(
    redis_server: RedisServer, environment: dict[str, str], hasty: dict[str, object], tmp_path: Path
) -> Iterator[Crew]:
    """Child processes on the test's own Redis and database; killed at the end."""
    made = Crew(
        {
            **environment,
            **redis_server.environment(),
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "MIRROR_SETTINGS": json.dumps(hasty),
        },
        tmp_path,
    )
    yield made
    made.kill_all()


@pytest.fixture
def state(redis_server: RedisServer) -> Iterator[Redis]:
    """A client of the test's own server, past the mirror's pools."""
    with redis_server.client() as client:
        yield client


@pytest.fixture
def still(redis_server: RedisServer, hasty: dict[str, object], transactional_db: None) -> list[Item]:
    """Three hundred rows that nobody writes during the test, in a warm mirror."""
    from tests.faults.tools import make_still

    items = make_still()
    world.warm()
    return items
