"""``mirror run``: a relay in one process, which needs neither Celery nor a broker."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from django.db import connection, connections, transaction
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry
from mirror.models import Change, State
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay import send
from mirror.standalone import notices
from mirror.standalone.runner import Relay
from mirror.windows import window
from tests.mirror import notes
from tests.projects.mirrortest.models import Item, Odd, Visited
from tests.projects.mirrortest.visits import look
from tests.support.mirror import world
from tests.support.mirror.command import ROOT, run
from tests.support.servers import RedisServer, wait_until
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("no_hints"), pytest.mark.also_on("cluster")]
OWN: Final = "titem"


@contextmanager
def running(relay: Relay) -> Iterator[None]:
    """Run the relay in a thread."""

    def run() -> None:
        try:
            relay.run()
        finally:
            connections.close_all()  # of this thread

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        relay.stop()
        thread.join()


@pytest.fixture
def quick(settings: Settings, timings: Timings) -> None:
    """Shorten the pauses of the relay, so that the tests take less time."""
    settings.MIRROR = {**settings.MIRROR, "RUN_POLL_SECONDS": 0.01}
    timings(RUN_SWEEP_SECONDS=0.05, HEARTBEAT_INTERVAL_SECONDS=0.05)


def record_tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that receives the names of tasks instead of the broker."""
    sent: list[str] = []

    def record(name: str, **options: object) -> bool:
        sent.append(name)
        return True

    monkeypatch.setattr(send, "task", record)
    return sent


@pytest.fixture
def unsent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no task is sent to the broker."""
    sent = record_tasks(monkeypatch)
    yield
    assert sent == []


def kill_other_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def is_mirrored(redis: Redis, pk: int) -> bool:
    return bool(redis.exists(f"titem:{pk}"))


@pytest.mark.usefixtures("committed", "quick", "unsent")
def test_relay_rebuilds_drains_and_beats_without_a_broker(redis: Redis) -> None:
    Item.objects.create(pk=1, name="a")
    with running(Relay()):
        wait_until(lambda: redis.exists(naming.marker(OWN)), "the rebuild")
        wait_until(lambda: redis.exists(naming.heartbeat()), "a heartbeat")
        Item.objects.bulk_create([Item(pk=2, name="b")])
        wait_until(lambda: is_mirrored(redis, 2), "the drain")
    assert is_mirrored(redis, 1)


@pytest.mark.usefixtures("committed", "unsent")
def test_new_changes_are_drained_between_two_sweeps(redis: Redis, settings: Settings, timings: Timings) -> None:
    settings.MIRROR = {**settings.MIRROR, "RUN_POLL_SECONDS": 0.01}
    timings(RUN_SWEEP_SECONDS=3600.0)
    world.warm_own()
    relay = Relay()
    with running(relay):
        wait_until(lambda: redis.exists(naming.clock()), "the first sweep")
        for pk in (1, 2):
            Item.objects.bulk_create([Item(pk=pk, name=str(pk))])
            wait_until(lambda pk=pk: is_mirrored(redis, pk), "the drain")  # type: ignore[misc]
    assert relay.applied


@pytest.mark.usefixtures("committed", "quick", "unsent")
def test_two_relays_share_the_work(redis: Redis) -> None:
    world.warm_own()
    with running(Relay()), running(Relay()):
        for pk in range(1, 6):
            Item.objects.bulk_create([Item(pk=pk, name=str(pk))])
        wait_until(lambda: not Change.objects.pending().filter(mirror=OWN).exists(), "the drains")
    assert world.dump(redis)[f"{OWN}:5"] == world.by_orm()[f"{OWN}:5"]


@pytest.mark.real
@pytest.mark.usefixtures("committed", "quick", "unsent")
def test_relay_waits_for_redis_and_logs_each_state_once(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    def count_lines(text: str) -> int:
        return sum(text in entry.getMessage() for entry in caplog.records)

    with caplog.at_level(logging.WARNING, "mirror"), running(Relay()):
        wait_until(lambda: redis_server.client().exists(naming.heartbeat()), "a heartbeat")
        redis_server.kill()
        Item.objects.bulk_create([Item(pk=1, name="a")])
        wait_until(lambda: count_lines("The relay waits"), "the loss to be logged")
        redis_server.start()
        wait_until(lambda: count_lines("The relay works again"), "the return to be logged")
        wait_until(lambda: is_mirrored(redis_server.client(), 1), "the drain")
    assert (count_lines("The relay waits"), count_lines("The relay works again")) == (1, 1)


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("committed", "quick", "unsent")
def test_relay_reconnects_to_sql(redis: Redis) -> None:
    world.warm_own()
    with running(Relay()):
        wait_until(lambda: redis.exists(naming.heartbeat()), "a heartbeat")
        kill_other_connections()
        Item.objects.bulk_create([Item(pk=1, name="a")])
        wait_until(lambda: is_mirrored(redis, 1), "the drain")


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("committed", "unsent")
def test_notifications_wake_the_relay_also_after_its_connections_were_killed(
    redis: Redis, settings: Settings, timings: Timings
) -> None:
    world.warm_own()
    settings.MIRROR = {**settings.MIRROR, "RUN_POLL_SECONDS": 3600.0}
    timings(RUN_SWEEP_SECONDS=3600.0)

    def count_listening() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN mirror_change'")
            return int(cursor.fetchone()[0])

    with running(Relay()):
        for pk in (1, 2):
            wait_until(count_listening, "the relay to listen")
            Item.objects.bulk_create([Item(pk=pk, name=str(pk))])
            wait_until(lambda pk=pk: is_mirrored(redis, pk), "the drain")  # type: ignore[misc]
            kill_other_connections()
        wait_until(count_listening, "the relay to listen again")


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("committed", "unsent")
def test_changes_are_drained_that_committed_just_before_the_relay_listened(
    redis: Redis, settings: Settings, timings: Timings, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.warm_own()
    settings.MIRROR = {**settings.MIRROR, "RUN_POLL_SECONDS": 3600.0}
    timings(RUN_SWEEP_SECONDS=3600.0)
    open_listening = notices.open_listening

    def open_late() -> object:
        Item.objects.bulk_create([Item(pk=1, name="a")])
        return open_listening()

    monkeypatch.setattr(notices, "open_listening", open_late)
    with running(Relay()):
        wait_until(lambda: is_mirrored(redis, 1), "the drain")


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("committed")
def test_one_of_two_simultaneous_transactions_notifies() -> None:
    second, listening = connection.copy(), notices.open_listening()
    try:
        with transaction.atomic():
            Item.objects.bulk_create([Item(name="a")])
            Item.objects.bulk_create([Item(name="b")])
            with second.cursor() as cursor:  # it commits without waiting for the first one
                cursor.execute("SET statement_timeout = '60s'")
                cursor.execute("INSERT INTO mirror_change (mirror, key) VALUES ('titem', '1')")
            assert list(listening.connection.notifies(timeout=0)) == []
        assert len(list(listening.connection.notifies(timeout=60, stop_after=1))) == 1
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            Item.objects.bulk_create([Item(name="c")])
            raise ZeroDivisionError
        Item.objects.bulk_create([Item(name="d")])
        assert len(list(listening.connection.notifies(timeout=60, stop_after=1))) == 1
    finally:
        listening.close()
        second.close()


@pytest.mark.usefixtures("committed", "unsent")
def test_stopped_rebuild_is_continued_by_the_next_relay(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 1}
    Odd.objects.bulk_create([Odd(code=code) for code in "abc"])
    relay = Relay()
    relay.stop()
    relay.run_once()
    assert not redis.exists(naming.marker("t'odd"))
    Relay().run_once()
    assert redis.exists(naming.marker("t'odd"))


@pytest.mark.usefixtures("committed", "unsent")
def test_single_run_reports_the_applied_changes() -> None:
    world.warm_own()
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])
    assert run("run", "--once").out == "2 changes applied\n"
    assert run("run", "--once", "--json").said == {"applied": 0}


@pytest.mark.usefixtures("committed")
def test_other_hints_still_go_to_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = record_tasks(monkeypatch)
    Relay().run_once()
    assert sent == []
    send.rebuild(registry.all_mirrors()[0].name)
    assert sent == ["mirror.tasks.rebuild"]


@pytest.mark.usefixtures("committed", "unsent")
def test_warm_up_happens_with_celery_but_without_a_broker(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = notes.writer()
    world.warm_own()
    monkeypatch.setattr(send, "task", lambda name, **options: False)
    window.warm_soon(notes.FEED, str(reader.pk))
    Relay().run_once()
    assert redis.exists(notes.feed(reader))


@pytest.mark.usefixtures("committed", "unsent")
def test_relay_does_what_requests_leave_without_celery(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = notes.writer()
    world.warm_own()
    monkeypatch.setattr(send, "HAS_CELERY", False)
    window.warm_soon(notes.FEED, str(reader.pk))
    assert all([send.verify("titem"), send.rebuild("titem", if_cold=False)])
    assert 0 < redis.ttl(naming.requests()) <= send.LEFT_SECONDS
    marker = redis.get(naming.marker("titem"))
    Relay().run_once()
    assert redis.exists(notes.feed(reader))
    assert State.objects.get(mirror="titem").verified_at
    assert redis.get(naming.marker("titem")) != marker
    assert not redis.exists(naming.requests())


@pytest.mark.usefixtures("committed", "quick", "unsent")
def test_relay_consumes_visits(redis: Redis) -> None:
    look(redis, "a")
    with running(Relay()):
        wait_until(Visited.objects.exists, "the visit in SQL")


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.only_on("sqlite")
def test_signal_ends_the_command_after_its_drain(environment: dict[str, str], redis: Redis) -> None:
    Item.objects.bulk_create([Item(pk=1, name="a")])
    command = [sys.executable, "-W", "ignore", "manage.py", "mirror", "run", "--json"]
    child = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE)
    wait_until(lambda: is_mirrored(redis, 1) or child.poll() is not None, "the drain")
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate()
    assert (child.returncode, b'"applied"' in out) == (0, True)
    assert relay_client().exists(f"{OWN}:1")
