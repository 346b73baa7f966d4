"""Following, blocking and muting: idempotent, and a follow never coexists with a block."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import permutations
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import translation
from pytest_django.fixtures import Settings

from accounts.models import User
from social.models import Block, Follow, Mute
from social.services import people
from tests.support.locks import has_lock_wait
from tests.support.servers import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 30


@pytest.fixture
def alice() -> int:
    return User.objects.create(username="alice").pk


@pytest.fixture
def bob() -> int:
    return User.objects.create(username="bob").pk


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run these calls at the same time in threads with connections of their own. Return results or errors."""
    together = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        together.wait(PATIENCE_SECONDS)
        try:
            return call()
        except people.ActionRefused as error:
            return type(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.mark.parametrize(
    ("do", "undo", "model"),
    [
        (people.follow, people.unfollow, Follow),
        (people.block, people.unblock, Block),
        (people.mute, people.unmute, Mute),
    ],
)
def test_actions_are_idempotent(alice: int, bob: int, do: Any, undo: Any, model: Any) -> None:
    assert [undo(alice, bob), do(alice, bob), do(alice, bob), model.objects.count()] == [False, True, False, 1]
    assert [undo(bob, alice), model.objects.count()] == [False, 1]
    assert [undo(alice, bob), undo(alice, bob), model.objects.count()] == [True, False, 0]


def test_a_block_ends_both_follows_and_an_unblock_restores_none(alice: int, bob: int) -> None:
    people.follow(alice, bob)
    people.follow(bob, alice)
    people.block(alice, bob)
    assert not Follow.objects.exists()
    people.unblock(alice, bob)
    assert not Follow.objects.exists()
    assert people.follow(bob, alice)


def test_a_repeated_block_ends_follows_that_bypassed_the_services(alice: int, bob: int) -> None:
    people.block(alice, bob)
    Follow.objects.bulk_create([Follow(follower_id=bob, followee_id=alice)])
    assert people.block(alice, bob) is False
    assert not Follow.objects.exists()


@pytest.mark.parametrize("do", [people.follow, people.block, people.mute])
def test_actions_on_oneself_missing_and_inactive_users_are_refused(alice: int, bob: int, do: Any) -> None:
    User.objects.filter(pk=bob).update(is_active=False)
    for target, error in ((alice, people.SelfTarget), (bob, people.NoSuchPerson), (10**12, people.NoSuchPerson)):
        with pytest.raises(error):
            do(alice, target)
    with pytest.raises(people.NoSuchPerson):
        do(bob, alice)


def test_follows_across_a_block_are_refused(alice: int, bob: int) -> None:
    people.block(alice, bob)
    with pytest.raises(people.BlockedByYou, match="Unblock them first"):
        people.follow(alice, bob)
    for do in (people.follow, people.mute):
        with pytest.raises(people.BlockedByThem) as blocked:
            do(bob, alice)
        assert str(blocked.value) == str(people.NoSuchPerson())
    assert people.block(bob, alice)  # otherwise only alice could end the separation


def test_refusals_are_in_the_readers_language() -> None:
    for error in (people.SelfTarget, people.NoSuchPerson, people.BlockedByYou, people.FollowsTooMany):
        with translation.override("en"):
            assert str(error()).endswith(".")
    assert f"{settings.FOLLOW_LIMIT:,}" in str(people.FollowsTooMany())


def test_follows_have_a_limit(alice: int, settings: Settings) -> None:
    settings.FOLLOW_LIMIT = 3
    crowd = User.objects.bulk_create(User(username=f"reader {n}") for n in range(5))
    for user in crowd[:3]:
        people.follow(alice, user.pk)
    with pytest.raises(people.FollowsTooMany, match="3 people"):
        people.follow(alice, crowd[3].pk)
    assert people.follow(alice, crowd[0].pk) is False  # repeating a follow is not refused
    people.unfollow(alice, crowd[0].pk)
    assert people.follow(alice, crowd[3].pk)


def test_the_limit_holds_for_concurrent_follows(alice: int, settings: Settings) -> None:
    settings.FOLLOW_LIMIT = 3
    crowd = User.objects.bulk_create(User(username=f"reader {n}") for n in range(6))
    done = at_once(*(partial(people.follow, alice, user.pk) for user in crowd))
    assert sorted(map(str, done)) == sorted([*["True"] * 3, *[str(people.FollowsTooMany)] * 3])
    assert Follow.objects.count() == 3


@pytest.mark.parametrize(("do", "model"), [(people.follow, Follow), (people.block, Block), (people.mute, Mute)])
def test_concurrent_calls_create_one_row(alice: int, bob: int, do: Any, model: Any) -> None:
    done = at_once(*[lambda: do(alice, bob)] * 6)
    assert sorted(done) == [False] * 5 + [True]
    assert model.objects.count() == 1


def test_a_concurrent_follow_and_block_leave_no_follow(alice: int, bob: int) -> None:
    for number in range(ROUNDS):
        pairs = list(permutations((alice, bob)))
        follows = [partial(people.follow, *pair) for pair in pairs]
        one, other = pairs[number % 2]
        done = at_once(*follows, partial(people.block, one, other))
        assert done[2] is True
        assert not Follow.objects.exists()
        assert set(done[:2]) <= {True, people.BlockedByThem, people.BlockedByYou}
        people.unblock(one, other)


@pytest.mark.only_on("postgres")
def test_a_block_waits_for_a_running_follow(alice: int, bob: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, looked = people.is_blocked, threading.Event()

    def look(blocker: int, blocked: int) -> bool:
        found = real(blocker, blocked)
        looked.set()
        wait_until(has_lock_wait, "the block to wait")
        return found

    def block() -> bool:
        looked.wait(PATIENCE_SECONDS)
        return people.block(bob, alice)

    monkeypatch.setattr(people, "is_blocked", look)
    assert at_once(lambda: people.follow(alice, bob), block) == [True, True]
    assert not Follow.objects.exists()


def test_following_a_user_deleted_meanwhile_is_refused(alice: int, bob: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_check_active", lambda *ids: User.objects.filter(pk=bob).delete())
    with pytest.raises(people.NoSuchPerson):
        people.follow(alice, bob)
    assert User.objects.filter(pk=bob).exists()
