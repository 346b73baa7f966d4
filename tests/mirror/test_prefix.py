"""Connections add the prefix to every key. The code names keys without it."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from django_redis import get_redis_connection
from hiredis import pack_command
from pytest_django.fixtures import Settings
from redis import Redis
from redis.crc import key_slot

from mirror import registry
from mirror.comparison import scan
from mirror.conf import setting
from mirror.outbox.identity import forget_identity
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import client, relay_client, with_prefix
from mirror.redis.keys import prefix
from mirror.redis.keys.positions import UnknownCommand, key_positions
from mirror.redis.recorder import record
from mirror.redis.session import Conflict, Session
from mirror.relay.drains import drain_all
from mirror.upkeep import rebuild, replay
from mirror.verify import runs
from mirror.visits import consume
from mirror.warm import cold
from tests.mirror import notes
from tests.projects.mirrortest.models import Item
from tests.projects.mirrortest.visits import look, pages
from tests.support.servers import RedisServer
from tests.support.warm_mirrors import OWN

pytestmark = pytest.mark.only_on("single")  # it names keys of several slots in one command

TEXT = "a*[b]:"  # as a glob pattern this would match other keys


@pytest.fixture
def prefixed() -> Redis:
    """Return a client whose connections add a prefix of its own."""
    return with_prefix(get_redis_connection(setting("ALIAS")), TEXT)


@pytest.fixture
def plain(server: RedisServer) -> Redis:
    """Return a client that names keys as they are on the server."""
    return server.plain_client()


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (("GET", "k"), ("GET", "pk")),
        (("GET", b"k"), ("GET", b"pk")),
        ((b"get", "k"), (b"get", "pk")),
        (("SET", "k", "v", "NX"), ("SET", "pk", "v", "NX")),
        (("SET", "{tag}:x", "v"), ("SET", "p{tag}:x", "v")),
        (("MGET", "a", "b"), ("MGET", "pa", "pb")),
        (("WATCH", "a", "b"), ("WATCH", "pa", "pb")),
        (("RENAME", "a", "b"), ("RENAME", "pa", "pb")),
        (("MSET", "a", 1, "b", 2), ("MSET", "pa", 1, "pb", 2)),
        (("BITOP", "OR", "a", "b", "c"), ("BITOP", "OR", "pa", "pb", "pc")),
        (("OBJECT", "ENCODING", "a"), ("OBJECT", "ENCODING", "pa")),
        (("EVALSHA", "digest", 2, "a", "b", "argument"), ("EVALSHA", "digest", 2, "pa", "pb", "argument")),
        (("EVAL", "text", "1", "a"), ("EVAL", "text", "1", "pa")),
        (("FCALL", "name", 0, "argument"), ("FCALL", "name", 0, "argument")),
        (("SCAN", 0, "COUNT", 5), ("SCAN", 0, "COUNT", 5, "MATCH", "p*")),
        (("SCAN", 0, b"MATCH", "x*"), ("SCAN", 0, b"MATCH", "px*")),
        (("KEYS", "x*"), ("KEYS", "px*")),
        (("MULTI",), ("MULTI",)),
        (("SCRIPT LOAD", "text"), ("SCRIPT LOAD", "text")),
    ],
)
def test_prefix_is_added_to_keys_and_patterns_only(command: Sequence[Any], wanted: Sequence[Any]) -> None:
    assert tuple(prefix.Packer("p").rename(command)) == wanted


def test_unknown_command_is_not_sent(prefixed: Redis) -> None:
    with pytest.raises(UnknownCommand, match="SORT"):
        prefixed.sort("a")
    with pytest.raises(UnknownCommand), Session(prefixed) as session:
        session.ask([("GET", "a"), ("SORT", "a")])
    with pytest.raises(UnknownCommand):
        prefixed.pipeline(transaction=False).get("a").sort("b").execute()
    assert prefixed.ping()


def test_every_way_of_sending_adds_the_prefix(prefixed: Redis, plain: Redis) -> None:
    prefixed.set("one", "1")
    prefixed.pipeline(transaction=False).set("two", "2").execute()
    prefixed.pipeline().set("three", "3").execute()
    prefixed.eval("return redis.call('SET', KEYS[1], ARGV[1])", 1, "four", "4")
    with Session(prefixed) as session:
        session.watch_and_ask(["five"], [("GET", "five")])
        session.execute([("SET", "five", "5")])
    names = [f"{TEXT}{name}".encode() for name in ("one", "two", "three", "four", "five")]
    assert plain.mget(names) == [b"1", b"2", b"3", b"4", b"5"]


def test_scans_return_only_keys_with_the_prefix_and_remove_it(prefixed: Redis, plain: Redis) -> None:
    plain.mset({"x": "", "ab:x": "", "a*b:x": ""})
    prefixed.mset({"x": "", "y": ""})
    assert {*prefixed.scan_iter()} == {*prefixed.keys("*")} == {b"x", b"y"}
    assert [*prefixed.scan_iter("x*", count=5)] == [b"x"]
    replies = prefixed.pipeline(transaction=False).get("x").scan(0, count=100).execute()
    assert {*replies[1][1]} == {b"x", b"y"}
    with Session(prefixed) as session:
        assert {key for found in scan.keys(session) for key in found} == {"x", "y"}


def test_watched_key_has_the_prefix(prefixed: Redis, plain: Redis) -> None:
    with Session(prefixed) as session:
        session.watch_and_ask(["a"], [("GET", "a")])
        plain.set("a", "of another site")
        session.execute([("SET", "a", "1")])
    with pytest.raises(Conflict), Session(prefixed) as session:
        session.watch_and_ask(["a"], [("GET", "a")])
        plain.set(f"{TEXT}a", "of another process")
        session.execute([("SET", "a", "2")])


def test_connections_without_a_prefix_are_unchanged() -> None:
    redis = get_redis_connection(setting("ALIAS"))
    pool: Any = redis.connection_pool
    assert with_prefix(redis, "") is redis
    assert (pool.packer, pool.pack) == (None, pack_command)


def test_recordings_name_keys_without_the_prefix(prefixed: Redis) -> None:
    with record() as seen:
        prefixed.get("a")
        pipe = prefixed.pipeline(transaction=False)
        pipe.mget("b", "c")
        pipe.execute()
        with Session(prefixed) as session:
            session.ask([("GET", "d")])
    assert seen.keys() == ["a", "b", "c", "d"]
    assert seen.round_trips == 3


def test_related_keys_share_a_slot_with_and_without_a_prefix(settings: Settings) -> None:
    for text in ("", "shop1:"):
        settings.MIRROR = settings.MIRROR | {"PREFIX": text}
        packer = prefix.Packer(prefix.current())
        for key, beside in [("viewed:", f"{naming.slot_of('viewed:')}:x"), ("tpages", naming.visits("tpages"))]:
            first, second = (str(packer.key(name)) for name in (key, beside))
            assert key_slot(first.encode()) == key_slot(second.encode())
            assert second.startswith(prefix.current())


def test_command_names_are_recognized_in_any_spelling() -> None:
    assert key_positions(("hset", "k", "f", "v")) == key_positions((b"HSET", "k", "f", "v")) == range(1, 2)
    assert not key_positions(("CLIENT SETINFO", "LIB-NAME", "x"))


@pytest.mark.django_db(transaction=True)
def test_sites_with_different_prefixes_do_not_see_each_other(settings: Settings, plain: Redis) -> None:
    def enter(text: str) -> None:
        settings.MIRROR = settings.MIRROR | {"PREFIX": text}

    def dump(text: str) -> dict[bytes, bytes | None]:
        return {name: plain.dump(name) for name in plain.scan_iter(f"{text}*", count=1000)}

    enter("shop1:")
    item = Item.objects.create(name="a", score=1)
    rebuild.rebuild(OWN)
    look(client(), "a")
    first = dump("shop1:")
    enter("shop2:")
    assert read(["titem"], lambda pipe: pipe.ping()) is None, "the other site's marker was believed"
    assert scan.find_absent([registry.get("titem")], relay_client()) == {"titem"}
    rebuild.rebuild(OWN)
    Item.objects.filter(pk=item.pk).update(score=2)
    assert drain_all()
    look(client(), "b")
    assert consume(pages, redis=client()) == 1
    assert runs.verify(OWN) == []
    assert dump("shop2:").keys() != set()
    cold.make_cold("titem", client())
    assert dump("shop1:") == first
    enter("shop1:")
    assert read(["titem"], lambda pipe: pipe.ping()) is not None


@pytest.mark.usefixtures("committed")
def test_a_process_with_another_prefix_leaves_its_changes_to_the_relay(
    settings: Settings, plain: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    rebuild.rebuild(OWN)
    configured, own = settings.MIRROR["PREFIX"], prefix.current()

    def enter(text: str) -> str:
        settings.MIRROR = {**settings.MIRROR, "PREFIX": text}
        forget_identity()  # as in a new process
        return prefix.current()

    wrong = enter("wrong:")
    Item.objects.bulk_create([Item(pk=1, name="a")])
    notes.notes(notes.writer())
    with caplog.at_level(logging.ERROR, "mirror"):
        assert drain_all() == 0
    assert [entry.getMessage() for entry in caplog.records] == [
        f"Changes are left to the relay: this process has the prefix {wrong!r}, and the relay writes keys with {own!r}"
    ]
    assert list(plain.scan_iter("wrong:*titem*")) == []
    assert enter(configured) == own
    assert drain_all() > 0
    assert runs.verify(OWN) == []
    # A sweep takes the prefix, and everything is rebuilt with it.
    new = enter("new:")
    replay.check(relay_client())
    Item.objects.bulk_create([Item(pk=2, name="b")])
    assert drain_all() > 0
    assert plain.exists(f"{new}titem:2")
