"""Hints bring committed changes to Redis at once, and their failures never reach the caller."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import OperationalError, transaction
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry, tasks
from mirror.declare.watches import Watch
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay import drains, hints, send
from tests.projects.mirrortest.models import Group, Item, Label, Odd
from tests.support.mirror import world
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("cluster")]
Sent = list[tuple[str, list[str]]]


@pytest.fixture(autouse=True)
def no_hurry(settings: Settings) -> None:
    """Lift the budget, which has tests of its own, for slow machines."""
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Collect the tasks that are sent to Celery."""
    found: Sent = []
    monkeypatch.setattr(send, "drain", lambda mirror, keys: found.append((mirror, keys)))
    monkeypatch.setattr(send, "sweep", lambda: found.append(("sweep", [])))
    return found


def pending() -> int:
    return Change.objects.pending().count()


def test_saved_row_is_in_redis_when_save_returns(redis: Redis) -> None:
    Odd.objects.create(code="a")
    assert redis.exists(registry.get("t'odd").record_key("a"))
    assert pending() == 0


def test_uncommitted_changes_never_reach_redis(redis: Redis) -> None:
    with transaction.atomic():
        Odd.objects.create(code="a")
        assert redis.keys("*todd*") == []
    assert redis.keys("*todd*") != []


def test_rolled_back_changes_never_reach_redis(redis: Redis) -> None:
    with transaction.atomic():
        Odd.objects.create(code="a")
        transaction.set_rollback(True)
    Odd.objects.create(code="b")
    assert [name.decode().rpartition(":")[2] for name in redis.keys("*todd*")] == ["b"]


def test_a_transaction_has_one_callback_for_all_its_hints(redis: Redis) -> None:
    with transaction.atomic():
        for code in "abc":
            with transaction.atomic():
                Odd.objects.create(code=code)
        assert len(transaction.get_connection().run_on_commit) == 1
    assert all(redis.exists(registry.get("t'odd").record_key(code)) for code in "abc")


def test_hint_in_a_rolled_back_savepoint_does_not_lose_the_others(redis: Redis) -> None:
    with transaction.atomic():
        Odd.objects.create(code="a")
        with transaction.atomic():
            Odd.objects.create(code="b")
            transaction.set_rollback(True)
        Odd.objects.create(code="c")
    assert all(redis.exists(registry.get("t'odd").record_key(code)) for code in "ac")
    assert not redis.exists(registry.get("t'odd").record_key("b"))


def test_hint_after_a_rolled_back_savepoint_is_followed(redis: Redis) -> None:
    """A flag for the whole transaction would survive the rollback of the savepoint."""
    with transaction.atomic():
        with transaction.atomic():
            Odd.objects.create(code="a")
            transaction.set_rollback(True)
        Odd.objects.create(code="a")
    assert redis.exists(registry.get("t'odd").record_key("a"))


def test_released_savepoint_is_no_commit(redis: Redis) -> None:
    with transaction.atomic():
        with transaction.atomic():
            Odd.objects.create(code="a")
        assert redis.keys("*todd*") == []


def test_many_saves_in_one_transaction_are_one_batch() -> None:
    Odd.objects.create(code="warms the connections up")
    with record() as seen, transaction.atomic():
        for n in range(30):
            Odd.objects.create(code=str(n))
    assert seen.round_trips == 2
    assert pending() == 0


@pytest.mark.usefixtures("inline_deletes")
def test_cascading_delete_reaches_redis_at_once(redis: Redis) -> None:
    group = Group.objects.create(name="g")
    Item.objects.create(name="a", group=group)
    group.delete()
    assert world.dump(redis) == world.by_orm() == {}


def test_deletion_outside_of_a_request_is_left_to_the_relay(redis: Redis) -> None:
    odd = Odd.objects.create(code="a")
    odd.delete()
    assert pending() == 1
    assert drains.drain_all() == 1
    assert not redis.exists(registry.get("t'odd").record_key("a"))


def test_keys_beyond_the_budget_are_sent_to_celery(settings: Settings, sent: Sent) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    with transaction.atomic():
        Odd.objects.create(code="a")
        Odd.objects.create(code="b")
    assert sent == [("t'odd", ["a", "b"])]
    assert pending() == 2


def test_source_is_left_to_a_sweep(sent: Sent) -> None:
    """A source's key is not a key of the mirror, so a task must not drain it."""
    item, label = Item.objects.create(name="a"), Label.objects.create(name="red")
    item.labels.add(label)
    drains.drain_all()
    label.name = "blue"
    label.save()
    assert sent == [("sweep", [])]


def test_many_changes_of_sources_send_one_sweep(sent: Sent, timings: Timings) -> None:
    timings(SWEEP_REQUEST_SECONDS=3600.0)
    item, label = Item.objects.create(name="a"), Label.objects.create(name="red")
    item.labels.add(label)
    drains.drain_all()
    for label.name in ("blue", "green"):
        label.save()
    assert sent == [("sweep", [])]


def test_keys_beyond_the_maximum_are_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "MOST", 3)
    with transaction.atomic():
        for n in range(5):
            Odd.objects.create(code=str(n))
        assert sum(map(len, hints._due.keys.values())) == 3
    assert pending() == 2


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_write_succeeds_without_redis_and_sends_no_task(harm: str, redis_server: RedisServer, sent: Sent) -> None:
    getattr(redis_server, harm)()
    Odd.objects.create(code="a")
    assert breaker.open()
    Odd.objects.create(code="b")  # the breaker is open, so this write waits for no time-out
    assert sent == []
    assert pending() == 2


def test_write_beyond_the_budget_succeeds_without_a_broker(settings: Settings, redis_server: RedisServer) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    redis_server.kill()
    Odd.objects.create(code="a")
    assert (breaker.open(), send.broker.open()) == (False, True)
    assert pending() == 1


def test_write_succeeds_if_sql_fails_after_the_commit(
    monkeypatch: pytest.MonkeyPatch, sent: Sent, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has one line for the failures, and one for their end."""

    def away(*args: object) -> None:
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(changes, "read_pending", away)
        for code in "abc":
            Odd.objects.create(code=code)
    assert pending() == 3
    Odd.objects.create(code="d")
    first, last = [text for text in caplog.messages if "SQL" in text]
    assert first == "SQL did not answer, the relay will catch up: gone"
    assert last.startswith("SQL answers again")


def test_row_that_cannot_be_mirrored_delays_no_other(monkeypatch: pytest.MonkeyPatch, redis: Redis) -> None:
    def bad(row: Odd) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch, transaction.atomic():
        patch.setattr(registry.get("t'odd"), "record", bad)
        Odd.objects.create(code="a")
        item = Item.objects.create(name="x")
    assert redis.exists(registry.get("titem").record_key(str(item.pk)))


def test_failing_source_delays_no_other_hint(monkeypatch: pytest.MonkeyPatch, redis: Redis, sent: Sent) -> None:
    def bad(values: Sequence[str], after: str | None, limit: int) -> list[str]:
        raise ZeroDivisionError

    watch = Watch(Label, via=bad)
    # "t'odd" sorts before "titem", so it is drained first
    monkeypatch.setattr(registry.get("t'odd"), "watches", [watch])
    with transaction.atomic():
        Change.objects.create(mirror="t'odd", source=watch.source, key="1")
        hints.hint("t'odd", watch.source, ["1"])
        item = Item.objects.create(name="b")
    assert redis.exists(registry.get("titem").record_key(str(item.pk)))
    assert sent == [("sweep", [])]


def test_flush_without_hints_sends_nothing() -> None:
    with record() as seen:
        hints.flush()
    assert (seen.commands, seen.sql) == ([], [])


def test_every_hint_names_an_existing_task(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []

    def hint(task: str, **_: Any) -> bool:
        named.append(task)
        return True

    monkeypatch.setattr(send, "_send_hint", hint)
    send.drain("a", ["1"])
    send.sweep()
    send.consume_visits()
    asks = (send.rebuild, send.verify)
    assert all([*(ask("a") for ask in asks), send.push("a", "b"), send.warm("a", "b")])
    assert len(set(named)) == 7
    assert [getattr(tasks, name).name for name in named] == [f"mirror.tasks.{name}" for name in named]
