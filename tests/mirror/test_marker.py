"""The warm marker is valid only for one layout, one database and one incarnation of Redis."""

import math
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from mirror import registry
from mirror.models import Identity
from mirror.outbox.identity import database_identity, forget_identity
from mirror.redis import naming
from mirror.redis.clients import client, incarnation
from mirror.redis.recorder import record
from mirror.upkeep import rebuild
from mirror.warm import marker
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]
NAME = "t'odd"


def pool() -> Any:
    return client().connection_pool


def said(name: str = NAME) -> Any:
    """Return the marker in Redis."""
    return client().get(naming.marker(name))


def warm() -> bool:
    return marker.is_warm(client(), NAME)


def test_rebuilt_mirror_is_warm_and_others_are_cold() -> None:
    rebuild.rebuild([NAME])
    assert warm()
    assert not marker.is_warm(client(), "titem")


def another_layout(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(registry.get(NAME), "version", 2)


def another_database(patch: pytest.MonkeyPatch) -> None:
    Identity.objects.update(uuid=uuid.uuid4())
    forget_identity()


def another_incarnation(patch: pytest.MonkeyPatch) -> None:
    layout, database, _, generation = said().decode().split("|")
    client().set(naming.marker(NAME), f"{layout}|{database}|somebody:else|{generation}")


def emptied(patch: pytest.MonkeyPatch) -> None:
    client().flushdb()


def rubbish(patch: pytest.MonkeyPatch) -> None:
    client().set(naming.marker(NAME), b"\xff|\x00")


def nothing_said(patch: pytest.MonkeyPatch) -> None:
    client().set(naming.marker(NAME), b"")


@pytest.mark.parametrize(
    "harm", [another_layout, another_database, another_incarnation, emptied, rubbish, nothing_said]
)
def test_mirror_without_a_valid_marker_is_cold(
    harm: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild.rebuild([NAME])
    harm(monkeypatch)
    assert not warm()


def test_mirror_is_cold_after_a_restart_that_kept_the_marker(redis_server: RedisServer) -> None:
    rebuild.rebuild([NAME])
    redis_server.restart()
    with redis_server.client() as redis:
        assert redis.exists(naming.marker(NAME))
    assert not warm()


@pytest.mark.only_on("single")  # it names the incarnation of a single server
def test_outdated_incarnation_of_a_process_is_checked_again() -> None:
    rebuild.rebuild([NAME])
    pool().incarnation = "learned:long ago"
    pool().asked_at = 0.0
    assert warm()


@pytest.mark.only_on("single")  # it names the incarnation of a single server
def test_incarnation_is_not_checked_at_every_read(monkeypatch: pytest.MonkeyPatch, timings: Timings) -> None:
    timings(INCARNATION_CHECK_SECONDS=3600.0)
    rebuild.rebuild([NAME])
    another_incarnation(monkeypatch)
    pool().asked_at = -math.inf
    assert not warm()
    with record() as seen:
        assert not warm()
    assert [command.name for command in seen.commands] == ["GET"]


def test_marker_is_set_only_with_the_token_of_the_rebuild(redis: Redis) -> None:
    mirror, token = registry.get(NAME), f"1:{incarnation(client(), ask=True)}:abc"
    assert not marker.set_after_rebuild(mirror, client(), token)
    redis.set(naming.building(NAME), f"{token} of another rebuild")
    assert not marker.set_after_rebuild(mirror, client(), token)
    redis.set(naming.building(NAME), token)
    assert marker.set_after_rebuild(mirror, client(), token)
    assert warm()
    assert not redis.exists(naming.building(NAME))


@pytest.mark.parametrize("token", ["2:{now}:abc", "1:another:abc"])
def test_marker_is_not_set_for_another_layout_or_incarnation(token: str, redis: Redis) -> None:
    token = token.format(now=incarnation(client(), ask=True))
    redis.set(naming.building(NAME), token)
    assert not marker.set_after_rebuild(registry.get(NAME), client(), token)


def test_every_rebuild_starts_a_new_generation() -> None:
    found = set()
    for _ in range(2):
        rebuild.rebuild([NAME])
        found.add(marker.generations(client(), [NAME], [said()]))
    assert len(found) == 2
    assert None not in found


def test_marker_is_restamped_only_if_neither_it_nor_redis_has_changed(redis: Redis) -> None:
    rebuild.rebuild([NAME])
    another_incarnation(pytest.MonkeyPatch())
    mirror, now, found = registry.get(NAME), incarnation(client()), said()
    assert not marker.restamp(mirror, client(), b"something else", now)
    assert not marker.restamp(mirror, client(), found, "another:incarnation")
    assert not warm()
    assert marker.restamp(mirror, client(), found, now)
    assert warm()


def test_feed_reports_every_new_generation(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ItemMirror, "feed", lambda self: "titem:feed")
    rebuild.rebuild(["titem"])
    news: Any = redis.xrevrange("titem:feed", count=1)
    assert news[0][1] == {b"reset": said("titem").rpartition(b"|")[2]}


def test_identity_of_the_database_is_permanent() -> None:
    Identity.objects.all().delete()
    forget_identity()
    first = database_identity()
    forget_identity()
    assert database_identity() == first == Identity.objects.get().uuid.hex
