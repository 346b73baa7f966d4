"""``make up`` with a PostgreSQL and a Redis of one's own."""

import os
import signal

import psycopg
import pytest
from redis import Redis

from tests.support.servers import wait_until
from tests.support.stack import copy_of_the_site

pytestmark = [pytest.mark.slow(45), pytest.mark.only_on("postgres")]


def test_the_site_runs_on_the_servers_that_the_environment_names(redis: Redis) -> None:
    server, _, _ = os.environ["DATABASE_URL"].rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS demo_site WITH (FORCE)")
        connection.execute("CREATE DATABASE demo_site")
    state = f"unix://{redis.connection_pool.connection_kwargs['path']}?db=0"
    with copy_of_the_site() as site:
        # A healthy database may take longer than a page would wait for it: other tests need the processors too.
        site.start(DATABASE_URL=f"{server}/demo_site?connect_timeout=60", REDIS_URL=state)
        assert site.get("/readyz") == 200
        assert not (site.folder / "var" / "db.sqlite3").exists()
        assert not (site.folder / "var" / "redis").exists()
        assert site.stop(signal.SIGTERM) == 0
        wait_until(lambda: not site.processes(), "the end of all processes")
