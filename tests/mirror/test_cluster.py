"""On a Redis Cluster, drains that were paused, killed or overtaken lose nothing and leave no stray."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django_redis import get_redis_connection
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ClusterCrossSlotError, RedisError

from mirror import registry
from mirror.cluster.topology import Topology
from mirror.models import Change
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import breaker, client, relay_client
from mirror.redis.keys import prefix
from mirror.redis.keys.slots import slot_of
from mirror.redis.pool import NotNamedAsCluster
from mirror.redis.recorder import record
from mirror.redis.session import Command, Session
from mirror.relay import apply, drains
from mirror.upkeep import replay, sweeper
from mirror.verify import background, runs
from mirror.warm import marker
from tests.projects.mirrortest.models import Item
from tests.support import crossing
from tests.support.killed import Killed, kill
from tests.support.mirror import world
from tests.support.mirror.items import make
from tests.support.servers import free_port, wait_until
from tests.support.servers.cluster import RedisCluster, main_cluster

pytestmark = [
    pytest.mark.only_on("cluster"),
    pytest.mark.usefixtures("committed", "no_hints"),
    pytest.mark.also_on("cluster"),
]
ITEM = registry.get("titem")
STEPS = range(5)  # begin, claim, stage, entries, finish


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Return a function that runs another one once, before the n-th round trip of the next session."""

    def arrange(number: int, act: Callable[[], object]) -> None:
        post, seen = Session.post, list[Session]()

        def count(session: Session, commands: Sequence[Command]) -> None:
            if not seen or seen[0] is session:
                seen.append(session)
                if len(seen) == number + 1:
                    monkeypatch.setattr(Session, "post", post)
                    act()
            post(session, commands)

        monkeypatch.setattr(Session, "post", count)

    return arrange


def change(item: Item, name: str, score: int) -> None:
    """Change a row so that its record, its lookup, its ranking and its sets change."""
    Item.objects.filter(pk=item.pk).update(name=name, score=score)


@pytest.mark.parametrize("number", STEPS)
def test_drain_overtaken_at_any_step_leaves_the_newer_data(
    number: int, at_step: Callable[..., None], redis: Redis
) -> None:
    item = make("a", "red", "round", score=1)
    drains.drain_all()
    change(item, "b", 2)

    def overtake() -> None:
        change(item, "c", 3)
        apply.drain(ITEM, [str(item.pk)])

    at_step(number, overtake)
    apply.drain(ITEM, [str(item.pk)])
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.parametrize("number", STEPS)
def test_drain_killed_at_any_step_leaves_no_stray(number: int, at_step: Callable[..., None], redis: Redis) -> None:
    item = make("a", "red", "round", score=1)
    drains.drain_all()
    change(item, "b", 2)

    at_step(number, kill)
    with pytest.raises(Killed):
        apply.drain(ITEM, [str(item.pk)])
    change(item, "c", 3)  # the entries of "b" are in no record
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()
    assert not list(redis.scan_iter("mirror:*staged*"))


@pytest.mark.parametrize("number", STEPS)
def test_name_that_passes_to_another_row_stays_with_it(number: int, at_step: Callable[..., None], redis: Redis) -> None:
    first, second = make("a"), make("b")
    drains.drain_all()
    change(first, "c", 1)

    def take_over() -> None:
        change(first, "d", 1)
        change(second, "c", 1)
        apply.drain(ITEM, [str(second.pk)])

    at_step(number, take_over)
    apply.drain(ITEM, [str(first.pk)])
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()


def test_known_row_is_read_in_one_round_trip() -> None:
    items = [make(f"{n}") for n in range(20)]
    world.warm_own()
    names = [f"titem:{item.pk}" for item in items]
    marker.is_warm(client(), "titem")
    with record() as seen:
        found = read(["titem"], lambda pipe: pipe.mget(names))
    assert found is not None
    assert None not in found.replies[0]
    assert seen.round_trips == 1
    assert len({slot_of(prefix.current() + name) for name in names}) > 10


def test_command_that_names_two_slots_is_refused() -> None:
    with pytest.raises(ClusterCrossSlotError):
        client().sinter(["titem:1", "titem:2"])
    with pytest.raises(ClusterCrossSlotError), Session(client()) as session:
        session.execute([("SET", "a", "1"), ("SET", "b", "1")])
    assert len(crossing.found) == 2  # they fail any other test
    crossing.found.clear()


def test_url_of_a_single_server_is_refused_for_a_master_of_a_cluster(settings: Settings) -> None:
    url = main_cluster().url.replace("+cluster", "")
    settings.CACHES = {**settings.CACHES, "single": {**settings.CACHES["state"], "LOCATION": url}}
    with pytest.raises(NotNamedAsCluster, match="redis\\+cluster"):
        get_redis_connection("single").ping()


def empty_another_master() -> None:
    """Empty a master that does not have the markers."""
    pool: Any = client().connection_pool
    home = pool.topology.get_node(slot_of(prefix.current() + naming.heartbeat()))
    emptied = next(i for i, port in enumerate(main_cluster().ports) if not home.endswith(f":{port}"))
    main_cluster().clients[emptied].flushall()


@pytest.fixture
def red_items(committed: None, no_hints: None) -> None:
    """Create 20 items with a label, in warm mirrors, and let a sweep complete."""
    for n in range(20):
        make(f"{n}", "red")
    world.warm()
    sweeper.sweep()


@pytest.mark.usefixtures("red_items")
@pytest.mark.parametrize("during_a_sweep", [False, True])
def test_emptied_master_is_noticed_by_the_next_sweep(during_a_sweep: bool, redis: Redis) -> None:
    empty_another_master()
    if during_a_sweep:
        replay.write_clock(relay_client(), marker.now(relay_client()))  # its end
    assert marker.is_warm(relay_client(), "titem")  # its marker is on another master
    sweeper.sweep()
    assert not marker.is_warm(relay_client(), "titem")
    world.rest()
    assert world.dump(redis) == world.by_orm()


@pytest.mark.usefixtures("red_items")
def test_losses_of_an_emptied_master_are_no_differences() -> None:
    empty_another_master()
    assert background.step(relay_client(), 1000) == []
    assert not Change.objects.pending().exists()


@pytest.fixture
def own_cluster(settings: Settings) -> Iterator[RedisCluster]:
    """Start a cluster with replicas for this test alone, and use it for the state."""
    with RedisCluster(replicas=1, node_seconds=1.0) as made:
        settings.CACHES = {
            alias: {**cache, "LOCATION": cache["LOCATION"] if alias == "default" else made.url}
            for alias, cache in settings.CACHES.items()
        }
        settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 0.0}
        yield made


def ask_until_it_answers(act: Callable[[], Any]) -> Any:
    """Return the result of ``act`` once Redis is there."""
    found: list[Any] = []

    def attempt() -> bool:
        breaker.reset()
        try:
            found.append(act())
        except RedisError:
            return False
        return True

    wait_until(attempt, "an answer of the cluster")
    return found[-1]


@pytest.mark.real
@pytest.mark.slow(15)
def test_failover_loses_nothing_and_readers_get_sql_meanwhile(own_cluster: RedisCluster) -> None:
    items = [make(f"{n}", "red", score=n) for n in range(30)]
    world.warm()
    sweeper.sweep()
    before = marker.now(relay_client())
    Item.objects.update(score=100)
    drains.drain_keys("titem", [str(item.pk) for item in items[:15]])
    own_cluster.masters[0].kill()
    Item.objects.update(score=200)
    for item in items:
        found = ITEM.get(item.pk)
        assert found is not None
        assert found["score"] in (items.index(item), 100, 200)  # no page fails; the relay has not drained yet
    wait_until(lambda: has_new_incarnation(before), "the failover")
    found = ITEM.get(items[0].pk)  # no master of the old incarnation answers for the new one
    assert found is not None
    assert found["score"] == 200
    ask_until_it_answers(world.rest)
    assert runs.verify([mirror.name for mirror in registry.all_mirrors()]) == []
    assert marker.is_warm(relay_client(), "titem")


def has_new_incarnation(before: str) -> bool:
    breaker.reset()
    try:
        return marker.now(relay_client()) != before
    except RedisError:
        return False


@contextmanager
def moving(slot: int) -> Generator[None, None, None]:
    """Begin to move a slot to another master, with one of its keys, and end it after the block."""
    cluster = main_cluster()
    masters = cluster.find_masters()
    of = next(n for n in masters if slot in cluster.list_slots(n))
    with cluster.moving([slot], of, masters[(masters.index(of) + 1) % len(masters)]):
        yield


@pytest.mark.real
@pytest.mark.slow(10)
def test_moving_slots_loses_nothing(redis: Redis) -> None:
    items = [make(f"{n}", "red", score=n) for n in range(12)]
    world.warm_own()
    for n, item in enumerate(items):
        Item.objects.filter(pk=item.pk).update(name=f"moved {n}", score=n + 50)
        with moving(slot_of(f"{prefix.current()}titem:{item.pk}")), suppress(RedisError):
            drains.drain_all()  # scripts of a slot on its way are refused
        drains.drain_all()
    assert world.dump(redis) == world.by_orm()
    assert marker.is_warm(relay_client(), "titem")


def test_another_node_is_asked_while_the_first_one_is_away() -> None:
    port = main_cluster().ports[1]
    topology = Topology(f"redis+cluster://127.0.0.1:{free_port()}/?node=127.0.0.1:{port}")
    assert len(topology.list_masters()) == 3
    topology.close_connections(inuse_connections=True)


@pytest.mark.parametrize("node", ["127.0.0.1", ":7001", "127.0.0.1:many"])
def test_node_without_a_port_is_refused(node: str) -> None:
    with pytest.raises(ValueError, match=f"node={node} in the URL of a cluster is not HOST:PORT"):
        Topology(f"redis+cluster://127.0.0.1:7000/?node={node}")
