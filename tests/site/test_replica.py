"""A real streaming replica answers public pages while Redis is away, and never shows what only the primary may show."""

import os
from collections.abc import Iterator

import environ
import orjson
import psycopg
import pytest
from django.core.checks import run_checks
from django.db import connection, connections
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from catalog import keys
from catalog.models import Author, Book
from catalog.search.finding import INDEXES
from config.defaults.replicas import build_database
from mirror.conf import use_database
from mirror.metrics import counted
from mirror.middleware import WROTE_COOKIE
from mirror.relay import drains, tables
from mirror.verify import runs
from tests.support import warm_mirrors
from tests.support.catalog.make import make_book
from tests.support.servers import PostgresReplica, RedisServer, wait_until
from tests.support.timeouts import dead

ALIAS = "replica"
pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", ALIAS]), pytest.mark.only_on("postgres")]
OLD, NEW = "Old title", "New title"


class Standby:
    """The replica, with a connection of an administrator."""

    def __init__(self, server: PostgresReplica) -> None:
        self.server = server

    def ask(self, statement: str) -> str:
        """Return the only value of the answer as text."""
        with psycopg.connect(self.server.url("postgres"), autocommit=True) as session:
            row = session.execute(statement).fetchone()
        return str(row[0]) if row else ""

    def catch_up(self) -> None:
        """Wait until it has all data of the primary."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn()")
            [position] = cursor.fetchone()
        wait_until(lambda: self._has_replayed(position), "replay up to the primary")

    def _has_replayed(self, position: str) -> bool:
        # The position may be behind the head of a page without a record, which only the next record brings here.
        with connection.cursor() as cursor:
            cursor.execute("SELECT txid_current()")
        return self.ask(f"SELECT pg_last_wal_replay_lsn() >= '{position}'") == "True"

    def pause(self) -> None:
        """Let it keep its data as they are now."""
        self.ask("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.ask("SELECT pg_get_wal_replay_pause_state()") == "paused", "the pause")

    def resume(self) -> None:
        self.ask("SELECT pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def standby_server(django_db_setup: None) -> Iterator[PostgresReplica]:
    """Start a replica of the test database, which Django's test cases know by its alias."""
    with PostgresReplica(os.environ["DATABASE_URL"]) as server:
        url = server.url(str(connection.settings_dict["NAME"]))
        connections.settings[ALIAS] = build_database(environ.Env.db_url_config(url))
        connections.configure_settings(connections.settings)
        yield server
        connections[ALIAS].close()
        del connections[ALIAS], connections.settings[ALIAS]


@pytest.fixture
def standby(standby_server: PostgresReplica, settings: Settings) -> Iterator[Standby]:
    """Use the replica in this process."""
    settings.MIRROR = settings.MIRROR | {"REPLICA": ALIAS}
    one = Standby(standby_server)
    yield one
    connections[ALIAS].close()
    if standby_server.process is None:
        standby_server.start()
    one.resume()


@pytest.fixture
def outdated(standby: Standby) -> Book:
    """Return a book whose title is older on the replica."""
    made = make_book(OLD, tags="ruby", authors="Ann Writer")
    tables.catch_up(INDEXES, 10)
    standby.catch_up()
    standby.pause()
    Book.objects.filter(pk=made.pk).update(title=NEW, sort_title=NEW)
    tables.catch_up(INDEXES, 10)  # otherwise the first search would write
    return made


@pytest.fixture
def outcomes() -> Iterator[list[str]]:
    """Return the outcomes of reads of the replica."""
    found: list[str] = []

    def note(*, name: str, value: int, labels: dict[str, str], **kwargs: object) -> None:
        if name == "replica_reads":
            found.extend([labels["outcome"]] * value)

    counted.connect(note)
    yield found
    counted.disconnect(note)


def public_pages(book: Book) -> list[str]:
    author = Author.objects.get(name="Ann Writer")
    return [f"/books/{book.pk}/", "/books/?q=ruby", f"/authors/{author.pk}/", "/books/", "/search/?q=Old"]


def is_shown(client: Client, path: str, title: str) -> bool:
    response = client.get(path)
    assert response.status_code == 200
    return title in response.content.decode()


def test_replica_answers_public_pages_while_redis_is_away(
    outdated: Book, redis_server: RedisServer, client: Client, outcomes: list[str]
) -> None:
    reader = User.objects.create_user("reader", "reader@example.com", "a long password")
    with dead(redis_server):
        for path in public_pages(outdated):
            assert is_shown(client, path, OLD), path
        assert set(outcomes) == {"answered"}
        assert is_shown(client, "/u/reader/", "reader")  # a reader whom the replica does not know
        User.objects.filter(pk=reader.pk).update(is_active=False)
        assert client.get("/u/reader/").status_code == 404


def test_writer_sees_the_write_although_the_replica_is_behind(
    outdated: Book, redis_server: RedisServer, client: Client
) -> None:
    with dead(redis_server):
        client.force_login(User.objects.create_user("reader", "reader@example.com", "a long password"))
        assert is_shown(client, f"/books/{outdated.pk}/", OLD)
        assert client.post(f"/books/{outdated.pk}/shelf/", {"action": "shelf", "shelf": "read"}).status_code == 302
        assert WROTE_COOKIE in client.cookies
        assert is_shown(client, f"/books/{outdated.pk}/", NEW)
        assert is_shown(Client(), f"/books/{outdated.pk}/", OLD)


def test_drain_and_verification_never_read_the_replica(outdated: Book, redis: Redis) -> None:
    with use_database(ALIAS):
        drains.drain_all()
        warm_mirrors.rebuild()
        assert runs.verify(["book"]) == []
    assert orjson.loads(redis.get(keys.book(outdated.pk)) or b"null")["title"] == NEW


def test_primary_answers_while_the_replica_is_stopped(
    outdated: Book, standby: Standby, client: Client, outcomes: list[str]
) -> None:
    path = f"/books/{outdated.pk}/"
    assert is_shown(client, path, OLD)  # the mirror is cold
    outcomes.clear()
    standby.server.stop()  # a killed server would leave its child to answer for a moment
    assert is_shown(client, path, NEW)
    assert is_shown(client, path, NEW)
    assert outcomes == ["failed"]  # the breaker spares all further reads the replica


def test_slow_and_writing_fallbacks_move_to_the_primary(standby: Standby) -> None:
    def ask(statement: str) -> str:
        with connections[ALIAS].cursor() as cursor:
            cursor.execute(statement)
            return str(cursor.fetchone()[0])

    assert ask("SHOW statement_timeout") == "2s"
    assert ask("SHOW transaction_read_only") == "on"


def test_other_database_is_no_replica(standby: Standby, settings: Settings) -> None:
    def find() -> set[str | None]:
        return {message.id for message in run_checks(tags=["database"], include_deployment_checks=True)}

    standby.catch_up()
    assert "site.E012" not in find()
    settings.MIRROR = settings.MIRROR | {"REPLICA": "default"}
    assert "site.E012" in find()
