"""A project with ``USE_TZ = False``: times of the outbox have no time zone, and mean the same as elsewhere."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from django.db import connection

from mirror.utils import moments
from tests.support.mirror.command import ROOT
from tests.support.servers import RedisServer

pytestmark = pytest.mark.also_on("sqlite")

HOUR: Final = 3600
WORK: Final = """
import json
from datetime import timedelta
import django
django.setup()
from django.core.management import call_command
call_command("migrate", run_syncdb=True, verbosity=0)
from django.db.models.functions import Now
from mirror.status import statuses
from mirror.models import Change, Job
from mirror.outbox import changes, lag
from mirror.redis.clients import relay_client
from mirror.upkeep import heartbeat, rebuild, replay, sweeper
from mirror.relay import send
from mirror.verify.runs import verify
from tests.projects.bookshelf.models import Volume
from tests.projects.bookshelf.titles import mirrored_title

redis, found = relay_client(), {}
rebuild.rebuild()
with send.performed_by(lambda name, *args, **kwargs: True):
    volume = Volume.objects.create(title="a volume")
lag.note_if_due(redis)
found["lag"] = lag.read(redis)[-1]
found["pending"] = statuses()[0].oldest_pending_seconds
sweeper.run_sweep(redis)
found["beat"] = heartbeat.beat(redis)
found["title"] = mirrored_title(volume.pk)
verify(["volume"])
found["verified_at"] = statuses()[0].verified_at
found["live"] = Job.objects.create(mirror="volume", kind="verify").is_live
found["kept"] = changes.purge(below=10**9)
Change.objects.update(applied_at=Now() - timedelta(days=400))
found["purged"] = changes.purge(below=10**9) > 0
print(json.dumps(found))
"""


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """Return variables that name an empty database of the kind that the tests use; SQLite's needs none."""
    if connection.vendor != "postgresql":
        yield {}
        return
    server, name = os.environ["DATABASE_URL"].rpartition("/")[0], f"bookshelf_{os.getpid()}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as sql:
        sql.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    yield {"BOOKSHELF_POSTGRES": f"{server}/{name}"}
    with psycopg.connect(f"{server}/postgres", autocommit=True) as sql:
        sql.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "UTC"])
def test_project_without_time_zones_is_mirrored(
    database: dict[str, str], tmp_path: Path, server: RedisServer, zone: str
) -> None:
    environment = (
        {**os.environ}
        | database
        | {
            "BOOKSHELF_FOLDER": str(tmp_path),
            "BOOKSHELF_ZONE": zone,
            "DJANGO_SETTINGS_MODULE": "tests.projects.bookshelf.settings",
            "REDIS_URL": server.url(),
        }
    )
    done = subprocess.run(
        [sys.executable, "-c", WORK], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    expected = {"beat": True, "title": "a volume", "live": True, "kept": 0, "purged": True}
    assert {name: found[name] for name in expected} == expected
    # Not some hours, by which these time zones differ from UTC.
    assert found["lag"] < HOUR
    assert found["pending"] < HOUR
    assert abs(datetime.fromisoformat(found["verified_at"]) - datetime.now(UTC)).total_seconds() < HOUR


class Connection:
    """A connection to PostgreSQL with local times."""

    vendor, timezone_name = "postgresql", "Europe/Berlin"


def test_bound_is_earlier_than_each_time_of_a_repeated_hour(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.USE_TZ = False
    monkeypatch.setattr(moments, "connections", {"default": Connection})
    change = datetime(2026, 10, 25, 1, 0, tzinfo=UTC).timestamp()  # 03:00 becomes 02:00
    for minute in range(-180, 180, 10):
        bound = moments.to_bound(change + 60 * minute)
        for later in range(minute, 181, 10):
            assert moments.to_bound(change + 60 * later) >= bound - moments.REPEATED
            written = datetime.fromtimestamp(change + 60 * later, tz=UTC).astimezone(moments._find_zone())
            assert written.replace(tzinfo=None) >= bound
    noon = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    assert moments.to_seconds(noon.replace(hour=14, tzinfo=None)) == noon.timestamp()
