"""Nine faults found in a comparable site. Most are tried here, some by real processes in ``tests/faults/``:

- 6: bulk work delayed a post; a killed worker lost deliveries (``test_social_import.py``, ``test_fanout_killed.py``)
- 7: without the broker a request failed, and its retry wrote twice; 8: without Redis error pages, or no response
  (``test_social_away.py``)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis
from redis.crc import key_slot

from accounts.models import User
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.upkeep import rebuild, sweeper
from mirror.verify import runs
from mirror.windows import push, window
from social import keys, selectors
from social.models import Block, Follow, Post
from social.services import people, posts
from tests.social import small_town
from tests.support.social import town
from tests.support.social.naive import facts

pytestmark = pytest.mark.django_db(transaction=True)


class Cast(NamedTuple):
    """Alice follows Bob but not Charlie. Bob has thirty posts, Charlie one. All timelines are warm."""

    alice: User
    bob: User
    charlie: User


@pytest.fixture
def cast(transactional_db: None, settings: Settings) -> Iterator[Cast]:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 30}
    found = Cast(*User.objects.bulk_create(User(username=name) for name in ("alice", "bob", "charlie")))
    Follow.objects.create(follower=found.alice, followee=found.bob)
    Post.objects.bulk_create(Post(user=found.bob, text=f"Bob says {n}") for n in range(30))
    Post.objects.create(user=found.charlie, text="Charlie says")
    rebuild.rebuild(town.MIRRORS)
    settle()
    for user in found:
        assert window.warm(town.TIMELINE, str(user.pk))
    yield found
    Post.objects.all()._raw_delete("default")


def settle() -> None:
    """Run the periodic work of the next two seconds."""
    sweeper.sweep()
    for name in town.MIRRORS:
        rebuild.rebuild_if_cold(name)
    push.push_all()
    drains.drain_all()


def home(user: User) -> list[int]:
    """Return the complete home timeline."""
    return [post["id"] for post in town.read_all_posts(lambda after: selectors.get_home_timeline(user.pk, after))]


def in_window(user: User) -> set[str]:
    """Return the posts in the window."""
    return {member.decode() for member in relay_client().zrange(keys.timeline(user.pk), 0, -1)} - {"0"}


def assert_as_sql_says(*users: User) -> None:
    truth = facts()
    assert [home(user) for user in users] == [truth.home(user.pk) for user in users]
    assert runs.verify(town.MIRRORS) == []


# --- 1. Redis emptied: all readers logged out, then "no activities", then only new posts


def test_fault_1_an_emptied_redis_shows_all_posts_of_sql_before_and_after_new_ones(cast: Cast, redis: Redis) -> None:
    redis.flushall()
    assert len(home(cast.alice)) == 30
    for count in (31, 32):
        posts.create_post(cast.bob.pk, "after the loss")
        assert len(home(cast.alice)) == count
    settle()
    assert len(home(cast.alice)) == 32
    assert window.warm(town.TIMELINE, str(cast.alice.pk))
    assert len(in_window(cast.alice)) == 32
    posts.create_post(cast.bob.pk, "when all is well again")
    settle()
    assert len(in_window(cast.alice)) == 33
    assert_as_sql_says(*cast)


def test_fault_1_sessions_survive_an_emptied_redis(cast: Cast, redis: Redis, client: Client) -> None:
    client.force_login(cast.alice)
    redis.flushall()
    answer = client.get("/home/", headers={"Accept": "application/json"})
    assert (answer.status_code, len(answer.json()["results"])) == (200, 20)


# --- 2. A rolled-back follow left posts; a rolled-back delete took a live post away


def test_fault_2_a_rolled_back_follow_leaves_nothing(cast: Cast) -> None:
    with transaction.atomic():
        people.follow(cast.alice.pk, cast.charlie.pk)
        transaction.set_rollback(True)
    settle()
    assert len(in_window(cast.alice)) == 30
    assert_as_sql_says(*cast)


def test_fault_2_a_rolled_back_delete_removes_nothing(cast: Cast) -> None:
    found = Post.objects.filter(user=cast.bob).first()
    assert found is not None
    with transaction.atomic():
        assert posts.delete_post(found.pk, by=cast.bob.pk)
        transaction.set_rollback(True)
    settle()
    assert str(found.pk) in in_window(cast.alice)
    assert_as_sql_says(*cast)


# --- 3. Bulk writes never arrived


def test_fault_3_bulk_posts_and_follows_arrive(cast: Cast) -> None:
    Follow.objects.bulk_create([Follow(follower=cast.alice, followee=cast.charlie)])
    Post.objects.bulk_create(Post(user=cast.charlie, text=f"in bulk {n}") for n in range(5))
    settle()
    assert len(in_window(cast.alice)) == 36
    assert_as_sql_says(*cast)


def test_fault_3_bulk_update_and_update_arrive(cast: Cast) -> None:
    mine = list(Post.objects.filter(user=cast.bob).order_by("pk"))
    for post in mine[:10]:
        post.is_hidden = True
    Post.objects.bulk_update(mine[:10], ["is_hidden"])
    Post.objects.filter(pk=mine[20].pk).update(text="put differently")
    settle()
    assert in_window(cast.alice) == {str(post.pk) for post in mine[10:]}
    seen = {
        post["id"]: post["text"]
        for post in town.read_all_posts(lambda a: selectors.get_home_timeline(cast.alice.pk, a))
    }
    assert seen[mine[20].pk] == "put differently"
    assert_as_sql_says(*cast)


# --- 4. A post hidden after its fan-out stayed readable


@pytest.mark.parametrize("how", ["service", "update", "save"])
def test_fault_4_a_post_hidden_after_its_fan_out_disappears_everywhere(cast: Cast, how: str) -> None:
    found = Post.objects.filter(user=cast.bob).latest("pk")
    assert str(found.pk) in in_window(cast.alice)
    if how == "service":
        posts.hide_post(found.pk)
    elif how == "update":
        Post.objects.filter(pk=found.pk).update(is_hidden=True)
    else:
        found.is_hidden = True
        found.save()
    settle()
    assert str(found.pk) not in in_window(cast.alice)
    assert selectors.get_post(found.pk, cast.alice.pk) is None
    assert_as_sql_says(*cast)
    posts.unhide_post(found.pk)
    settle()
    assert str(found.pk) in in_window(cast.alice)
    assert_as_sql_says(*cast)


# --- 5. The refill only added; deactivated authors kept showing


@pytest.mark.parametrize("how", ["repair", "refill"])
def test_fault_5_wrong_posts_in_a_timeline_are_removed(cast: Cast, redis: Redis, how: str) -> None:
    stray = Post.objects.get(user=cast.charlie).pk
    redis.zadd(keys.timeline(cast.alice.pk), {str(stray): stray})
    lost = Post.objects.filter(user=cast.bob).latest("pk").pk
    redis.zrem(keys.timeline(cast.alice.pk), str(lost))
    if how == "repair":
        call_command("mirror", "repair", "timeline")
    else:
        call_command("timelines", "rebuild", "--user", "alice")
    assert len(in_window(cast.alice)) == 30
    assert_as_sql_says(*cast)


def test_fault_5_deactivated_authors_disappear_and_come_back(cast: Cast) -> None:
    User.objects.filter(pk=cast.bob.pk).update(is_active=False)
    settle()
    assert in_window(cast.alice) == set()
    assert home(cast.alice) == []
    assert [post["user"]["name"] for post in selectors.get_global_timeline(None).posts] == ["charlie"]
    assert selectors.get_posts_by(cast.bob.pk, None).posts == []
    assert_as_sql_says(cast.alice, cast.charlie)
    User.objects.filter(pk=cast.bob.pk).update(is_active=True)
    settle()
    assert len(in_window(cast.alice)) == 30
    assert_as_sql_says(*cast)


@pytest.mark.parametrize("leave", [people.unfollow, people.block, people.mute])
def test_fault_5_unfollowed_authors_disappear_at_once(cast: Cast, leave: Any) -> None:
    assert small_town.Visitor().request(lambda: leave(cast.alice.pk, cast.bob.pk))
    assert home(cast.alice) == []
    settle()
    assert in_window(cast.alice) == set()
    assert_as_sql_says(*cast)


def test_fault_5_a_block_hides_the_blocker_at_once(cast: Cast) -> None:
    """The block also holds while the timeline, which is recomputed after it, is outdated."""
    Block.objects.bulk_create([Block(blocker=cast.bob, blocked=cast.alice)])
    drains.drain_keys("shun", [f"{cast.alice.pk}:{cast.bob.pk}"])
    assert len(in_window(cast.alice)) == 30
    assert home(cast.alice) == []
    assert selectors.get_posts_by(cast.bob.pk, cast.alice.pk).posts == []
    assert {post["user"]["name"] for post in selectors.get_global_timeline(cast.alice.pk).posts} == {"charlie"}
    settle()
    assert_as_sql_says(*cast)


# --- 9. CROSSSLOT in the fan-out


@pytest.mark.only_on("cluster")
def test_fault_9_a_cluster_accepts_a_fan_out_and_has_the_windows_of_sql(cast: Cast) -> None:
    """A command with keys of several slots fails every test there, whether it was sent or not."""
    with record() as seen:
        posts.create_post(cast.bob.pk, "to all")
        people.follow(cast.charlie.pk, cast.bob.pk)
        settle()
        window.cool(town.TIMELINE, [str(cast.alice.pk)], relay_client())
        assert window.warm(town.TIMELINE, str(cast.alice.pk))
        posts.delete_post(Post.objects.latest("pk").pk, by=cast.bob.pk)
        people.block(cast.alice.pk, cast.charlie.pk)
        settle()
        home(cast.alice)
    assert any(len(command.named()) == 3 for command in seen.commands), "nothing was delivered"
    assert len({key_slot(keys.timeline(user.pk).encode()) for user in cast}) > 1, "all in one slot"
    assert_as_sql_says(*cast)
