"""The fan-out works on a Redis Cluster: each command and each call of the script uses one slot."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from redis import Redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import ResponseError

from accounts.models import User
from mirror.redis.clients import relay_client
from mirror.redis.recorder import Command, record
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.windows import deliver, push, window
from social import keys
from social.models import Follow, Post
from tests.support import slots
from tests.support.servers import PATIENCE_SECONDS
from tests.support.servers.cluster import RedisCluster as ClusterServers
from tests.support.social import town
from tests.support.social.cluster import send_again

pytestmark = [
    pytest.mark.only_on("single"),  # it compares a cluster with one Redis
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
FOLLOWERS, OLDER = 30, 3


@pytest.fixture(scope="module")
def three() -> Iterator[RedisCluster]:
    """Start a cluster once per module, because three masters need seconds to find each other."""
    with ClusterServers() as servers:
        nodes = [ClusterNode("127.0.0.1", port) for port in servers.ports]
        with RedisCluster(startup_nodes=nodes, socket_timeout=PATIENCE_SECONDS) as client:
            yield client


@pytest.fixture
def readers() -> list[User]:
    """Create an author and followers with warm sets but without windows in Redis."""
    author, *others = User.objects.bulk_create(User(username=f"reader {n}") for n in range(FOLLOWERS + 1))
    Follow.objects.bulk_create(Follow(follower=other, followee=author) for other in others)
    Post.objects.bulk_create(Post(user=author, text=f"older {n}") for n in range(OLDER))
    rebuild.rebuild(town.MIRRORS)
    drains.drain_all()
    return [author, *others]


def fan_out(readers: Sequence[User]) -> list[Command]:
    """Record the commands of rebuilt windows, new and deleted posts, an unfollow, and reads of windows."""
    author, *others = readers
    with record() as seen:
        for reader in readers:
            assert window.warm(town.TIMELINE, str(reader.pk))
        new = Post.objects.bulk_create(Post(user=author, text=f"new {n}") for n in range(2))
        push.push_all()
        Post.objects.filter(pk=new[0].pk)._raw_delete("default")
        push.push_all()
        Follow.objects.filter(follower=others[0])._raw_delete("default")
        drains.drain_keys("follow", [f"{others[0].pk}:{author.pk}"])
        drains.drain_keys("timeline", [str(others[0].pk)])
        pipe = relay_client().pipeline(transaction=False)
        for reader in readers:
            window.ask(pipe, town.TIMELINE, str(reader.pk), None, 10)
        pipe.execute()
    return seen.commands


def windows(redis: Redis | RedisCluster, readers: Sequence[User]) -> list[Any]:
    """Return the members of each timeline, including the sentinel."""
    return [redis.zrange(keys.timeline(reader.pk), 0, -1, withscores=True) for reader in readers]


def copy_sets(redis: Redis, to: RedisCluster) -> None:
    """Copy the existing sets of followed users to the cluster."""
    for key in redis.scan_iter(keys.following("*")):
        to.sadd(key, *redis.smembers(key))


def test_a_cluster_accepts_a_fan_out_and_has_the_same_windows(
    three: RedisCluster, readers: list[User], redis: Redis
) -> None:
    copy_sets(redis, three)
    commands = fan_out(readers)
    send_again(three, commands, deliver.script)
    assert windows(three, readers) == windows(redis, readers)
    calls = [command for command in commands if command.name == "EVALSHA"]
    assert len(calls) == 2 * (FOLLOWERS + 1)
    assert len({slots.slot(str(call.args[2])) for call in calls}) > 10, "all in a few slots"


def test_a_cluster_refuses_a_call_that_names_two_readers(three: RedisCluster) -> None:
    """Prove that the test above can fail."""
    call = Command("EVALSHA", (deliver.script.digest, 2, keys.timeline(1), keys.timeline(2), 10, 1, "", "1"), 1)
    with pytest.raises(ResponseError, match="same slot"):
        send_again(three, [call], deliver.script)
