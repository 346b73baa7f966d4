"""The status of mirrors."""

from typing import Any

import pytest
from redis import Redis

from mirror import Mirror, WindowMirror, registry, status
from mirror.models import Change, State
from mirror.redis import naming
from mirror.redis.clients import breaker, client
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.status import Status
from mirror.upkeep import rebuild
from tests.projects.mirrortest.mirrors import LatestItems
from tests.projects.mirrortest.models import Item, Odd
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


def of(name: str, **options: Any) -> Status:
    return next(found for found in status.statuses(**options) if found.mirror == name)


def test_status_counts_pending_and_quarantined_changes() -> None:
    Odd.objects.bulk_create(Odd(code=str(n)) for n in range(4))
    Change.objects.filter(key="0").update(created_at="2020-01-01T00:00:00Z")
    Change.objects.filter(key="1").update(quarantined_at="2020-01-01T00:00:00Z")
    found = of("t'odd")
    assert (found.rows, found.pending, found.quarantined, found.layout_version) == (4, 3, 1, "1")
    assert found.oldest_pending_seconds > 86400


def test_status_without_changes() -> None:
    found = of("t'odd")
    assert (found.rows, found.pending, found.oldest_pending_seconds, found.warm) == (0, 0, 0.0, False)


def test_mirror_is_warm_after_its_rebuild_and_cold_in_an_emptied_redis(redis: Redis) -> None:
    rebuild.rebuild(["t'odd"])
    assert of("t'odd").warm is True
    redis.flushall()
    assert of("t'odd").warm is False


def test_all_mirrors_take_one_round_trip() -> None:
    rebuild.rebuild()
    with record() as seen:
        status.statuses(count_rows=False)
    assert seen.round_trips == 1


def test_counting_rows_is_optional(postgres: bool) -> None:
    status.warm_mirrors()  # a new process also checks once whether SQL was restored
    with record() as seen:
        assert of("t'odd", count_rows=False).rows == -1
    assert len(seen.sql) == (5 if postgres else 4)  # all but two of them check triggers


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_warmth_is_unknown_without_redis(harm: str, redis_server: RedisServer) -> None:
    client().ping()
    getattr(redis_server, harm)()
    assert of("t'odd").warm is None
    assert breaker.open()
    assert of("t'odd").warm is None


def test_marker_of_the_wrong_type_opens_no_breaker(redis: Redis) -> None:
    redis.sadd(naming.marker("titem"), "x")
    assert of("t'odd").warm is None
    assert not breaker.open()


def test_status_shows_a_rebuild_in_progress_and_the_last_verification() -> None:
    State.objects.create(
        mirror="titem", rebuild_token="x", rebuild_rows=5, verified_at="2020-01-01T00:00:00Z", differences=2
    )
    found = of("titem")
    assert (found.rebuilding_rows, found.differences) == (5, 2)
    assert found.verified_at == "2020-01-01T00:00:00+00:00"
    assert of("tgroup").rebuilding_rows is None


def test_summary_counts_as_one_row_even_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    Item.objects.bulk_create([Item(name="a"), Item(name="b")])
    assert of("latest").rows == 1
    monkeypatch.delattr(LatestItems, "model")
    assert of("latest").rows == 1


def test_pending_changes_of_sources_count() -> None:
    drains.drain_all()
    Change.objects.create(mirror="titem", source="somewhere", key="1")
    assert of("titem").pending == 1
    assert registry.get("titem").name == "titem"


def test_registry_returns_only_mirrors_of_the_wanted_kind() -> None:
    assert registry.get("titem", Mirror) is registry.get("titem")
    with pytest.raises(LookupError, match=r"no WindowMirror called 'titem' \(there are: .*tfeed"):
        registry.get("titem", WindowMirror)
