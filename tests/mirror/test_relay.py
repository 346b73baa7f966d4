"""The relay applies every pending change. A failing key delays no other."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.db import transaction
from django.db.utils import OperationalError, ProgrammingError
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from mirror import Mirror, registry
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import client, relay_client
from mirror.redis.recorder import record
from mirror.redis.session import Conflict
from mirror.relay import apply, drains
from mirror.upkeep import rebuild
from mirror.warm import marker
from tests.projects.mirrortest.models import Follow, Item, Odd
from tests.support.mirror import world
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("sqlite", "cluster")]


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return a set of codes. A row whose code is added to it cannot be mirrored."""
    bad: set[str] = set()
    mirror = registry.get("t'odd")
    good = mirror.record

    def raising(row: Any) -> Mapping[str, Any]:
        if row.code in bad:
            raise ZeroDivisionError(f"no {row.code}")
        return good(row)

    monkeypatch.setattr(mirror, "record", raising)
    return bad


def codes(count: int) -> list[str]:
    """Create so many rows, each with a pending change. Return their codes."""
    Odd.objects.bulk_create(Odd(code=f"c{n:03}") for n in range(count))
    return [f"c{n:03}" for n in range(count)]


def arrived(redis: Redis) -> set[str]:
    return {name.decode().rpartition("todd:")[2] for name in redis.keys("*todd:*")}


def test_all_pending_changes_are_applied(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BATCH": 3}
    made = codes(40)
    assert drains.drain_all() == 40
    assert arrived(redis) == set(made)
    assert drains.drain_all() == 0


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_many_changes_of_one_row_are_one_write(redis: Redis) -> None:
    Odd.objects.create(code="a")
    for _ in range(10):
        Odd.objects.update(code="a")
    with record() as seen:
        assert drains.drain_all() == 11
    assert sum(command.name == "MSET" for command in seen.commands) == 1


def test_failing_row_delays_no_other(poison: set[str], redis: Redis) -> None:
    made = codes(20)
    poison.add("c013")
    assert drains.drain_all() == 19
    assert arrived(redis) == set(made) - {"c013"}
    assert Change.objects.pending().get().error == "ZeroDivisionError: no c013"


def test_failing_row_is_found_by_halving(poison: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = codes(64)
    poison.add("c013")
    tries: list[int] = []
    drain = apply.drain

    def counted(mirror: Mirror, pks: Sequence[str], **options: Any) -> apply.Drained:
        tries.append(len(pks))
        return drain(mirror, pks, **options)

    monkeypatch.setattr(apply, "drain", counted)
    failures: dict[str, Exception] = {}
    assert drains.isolate(registry.get("t'odd"), made, relay_client(), failures) == 63
    assert list(failures) == ["c013"]
    assert len(tries) <= 2 * 7  # both halves of 64, 32, ... 2, and the remaining row


def test_row_that_failed_three_times_is_quarantined_and_skipped(poison: set[str]) -> None:
    codes(2)
    poison.add("c001")
    for attempts in (1, 2, 3):
        drains.drain_all()
        assert Change.objects.get(key="c001").attempts == attempts
    assert [c.key for c in Change.objects.quarantined()] == ["c001"]
    with record() as seen:
        assert drains.drain_all() == 0
    assert seen.commands == []


def test_new_change_of_a_quarantined_row_applies_all_of_them(poison: set[str]) -> None:
    codes(1)
    poison.add("c000")
    for _ in range(3):
        drains.drain_all()
    poison.clear()
    Odd.objects.update(code="c000")
    assert drains.drain_all() == 2
    assert not Change.objects.filter(applied_at=None).exists()


def test_failing_row_is_tried_once_per_run(poison: set[str]) -> None:
    """Otherwise all three attempts would pass within milliseconds, and no brief fault would be tolerated."""
    codes(1)
    poison.add("c000")
    drains.drain_all()
    assert Change.objects.get().attempts == 1


def test_conflicts_do_not_count_as_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_the_way(*args: object, **options: object) -> None:
        raise Conflict

    codes(2)
    with monkeypatch.context() as patch:
        patch.setattr(apply, "drain", in_the_way)
        assert drains.drain_all() == 0
    assert {(c.attempts, c.error) for c in Change.objects.all()} == {(0, "")}
    assert drains.drain_all() == 2


@pytest.mark.parametrize("error", [RedisConnectionError("gone"), OperationalError("database is locked")])
def test_unreachable_server_does_not_count_as_failure(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(pks: Sequence[str]) -> None:
        raise error

    codes(2)
    monkeypatch.setattr(registry.get("t'odd"), "load", away)
    with pytest.raises(type(error)):
        drains.drain_all()
    assert {(c.attempts, c.error) for c in Change.objects.all()} == {(0, "")}


def test_drain_inside_a_transaction_is_refused_and_counts_no_failure() -> None:
    made = codes(2)
    with transaction.atomic():
        for drain in (drains.drain_all, lambda: drains.drain_keys("t'odd", made)):
            with pytest.raises(ProgrammingError, match="transaction"):
                drain()
        assert {(c.attempts, c.error) for c in Change.objects.all()} == {(0, "")}


def test_all_changes_stay_pending_while_redis_is_down(redis_server: RedisServer) -> None:
    codes(2)
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        drains.drain_all()
    assert Change.objects.pending().count() == 2
    redis_server.start()
    assert drains.drain_all() == 2


def test_full_redis_does_not_count_as_failure(redis_server: RedisServer) -> None:
    codes(2)
    with redis_server.client() as redis:
        redis.config_set("maxmemory", "1")
        with pytest.raises(Exception, match=r"OOM|maxmemory"):
            drains.drain_all()
        assert {(c.attempts, c.applied_at) for c in Change.objects.all()} == {(0, None)}
        redis.config_set("maxmemory", "0")
    assert drains.drain_all() == 2


def test_expired_deadline_drains_nothing() -> None:
    codes(3)
    assert drains.drain_all(0) == 0
    assert drains.drain_keys("t'odd", ["c000", "c001"], drains.Deadline(0)) == (0, ["c000", "c001"])


def test_keys_beyond_the_deadline_are_returned(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BATCH": 2}
    made, deadline = codes(6), drains.Deadline()
    looks = iter([False, False, True])
    monkeypatch.setattr(deadline, "passed", lambda: next(looks))
    assert drains.drain_keys("t'odd", made, deadline) == (4, made[4:])


def test_changes_of_an_unregistered_mirror_are_marked() -> None:
    changes.append("gone", ["1", "2"])
    drains.drain_all()
    assert not Change.objects.pending().exists()


def test_change_of_everything_makes_only_its_mirror_cold(redis: Redis) -> None:
    world.warm_own()
    changes.append("tfollow", [changes.WHOLE])
    drains.drain_all()
    assert not marker.is_warm(client(), "tfollow")
    assert marker.is_warm(client(), "titem")
    assert not Change.objects.pending().exists()


def test_change_of_everything_restarts_a_rebuild_in_progress(redis: Redis) -> None:
    Follow.objects.create(follower=1, followed=2)
    seen: list[int] = []

    def emptied_meanwhile(mirror: str, rows: int) -> None:
        if not seen:
            changes.append("tfollow", [changes.WHOLE])
            drains.drain_all()
        seen.append(rows)

    rebuild.rebuild(["tfollow"], progress=emptied_meanwhile)
    assert len(seen) == 2
    assert marker.is_warm(client(), "tfollow")


def test_names_rotated_among_rows_in_one_run_are_right(redis: Redis) -> None:
    items = Item.objects.bulk_create([Item(name=str(n)) for n in range(6)])
    drains.drain_all()
    for n, item in enumerate(items):
        Item.objects.filter(pk=item.pk).update(name=f"x{n}")
    for n, item in enumerate(items):
        Item.objects.filter(pk=item.pk).update(name=str((n + 1) % 6))
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()
