"""``make up`` with a PostgreSQL of one's own."""

import os

import psycopg
import pytest

from tests.support.stack import copy_of_the_site

pytestmark = [pytest.mark.slow, pytest.mark.on_postgres]


def test_the_site_runs_on_the_database_that_the_environment_names() -> None:
    server, _, _ = os.environ["DATABASE_URL"].rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS demo_site WITH (FORCE)")
        connection.execute("CREATE DATABASE demo_site")
    with copy_of_the_site() as site:
        # A healthy database may take longer than a page would wait for it: others have the processors too.
        site.start(DATABASE_URL=f"{server}/demo_site?connect_timeout=60")
        assert site.get("/readyz") == 200
        assert not (site.folder / "var" / "db.sqlite3").exists()
