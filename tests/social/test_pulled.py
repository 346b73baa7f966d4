"""Authors with very many followers become pulled step by step, and no follower misses a post meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from mirror.models import Change
from mirror.outbox import spread
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from mirror.windows import push
from social import keys
from social.models import Follow, Post, Pulled
from social.selectors import get_home_timeline
from social.tasks import settle_pulled
from social.timelines.pulling import advance_states, is_pulled_now
from tests.support.social.timelines import ids_of, warm_up
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
ON, TURNING, EASED = Pulled.State.ON, Pulled.State.TURNING, Pulled.State.EASED


@pytest.fixture(autouse=True)
def limit(settings: Settings) -> int:
    """Set the limit of followers to four."""
    settings.SOCIAL_PULL_FOLLOWERS = 4
    return 4


@pytest.fixture
def people() -> list[User]:
    """Create an author and five followers, with warm mirrors."""
    found = User.objects.bulk_create(User(username=f"reader {n}", password="!") for n in range(7))
    follow(found[1:6], found[0])
    Post.objects.bulk_create([Post(user=found[0], text="once")])
    rebuild()
    drains.drain_all()
    return found


def follow(followers: Sequence[User], author: User) -> None:
    Follow.objects.bulk_create(Follow(follower=one, followee=author) for one in followers)


def state(author: User) -> str:
    return Pulled.objects.get(pk=author.pk).state


def test_posts_are_pushed_up_to_the_limit(people: list[User]) -> None:
    Follow.objects.filter(follower=people[1]).delete()
    drains.drain_all()
    assert advance_states() == 0
    assert not Pulled.objects.exists()


def test_posts_are_pulled_only_after_every_follower_pulls(people: list[User], redis: Redis) -> None:
    author, late = people[0], people[6]
    assert settle_pulled() == 1
    assert (state(author), is_pulled_now(author.pk)) == (TURNING, False)
    assert advance_states() == 0  # its change is not spread yet
    while group := spread.next_group():
        spread.step(group)
    assert advance_states() == 0
    assert state(author) == TURNING  # the follows' changes are pending
    follow([late], author)  # nothing waits for this change
    own = Change.objects.pending().get(mirror="follow", key=f"{late.pk}:{author.pk}")
    others = Change.objects.pending().filter(mirror="follow").exclude(pk=own.pk)
    drains.drain_keys("follow", list(others.values_list("key", flat=True)))
    assert advance_states() == 1
    assert (state(author), is_pulled_now(author.pk)) == (ON, True)
    fetching = [person for person in people if redis.sismember(keys.pulls(person.pk), str(author.pk))]
    following = [person for person in people if redis.sismember(keys.following(person.pk), str(author.pk))]
    assert fetching == following == people[1:6]
    drains.drain_all()
    assert redis.sismember(keys.pulls(late.pk), str(author.pk))


def test_any_number_of_authors_takes_the_same_statements_without_redis(people: list[User]) -> None:
    def count_statements() -> int:
        with sql_only(), CaptureQueriesContext(connection) as captured:
            assert advance_states() == 0
        return len(captured)

    Follow.objects.filter(follower=people[1]).delete()
    drains.drain_all()
    before = count_statements()
    Post.objects.bulk_create(Post(user=one, text="once") for one in people)
    assert count_statements() == before


def test_a_quarantined_follow_keeps_posts_pushed(people: list[User]) -> None:
    advance_states()
    while group := spread.next_group():
        spread.step(group)
    advance_states()
    Change.objects.filter(mirror="follow", key=f"{people[1].pk}:{people[0].pk}").update(
        quarantined_at="2020-01-01T00:00Z"
    )
    drains.drain_all()
    assert advance_states() == 0
    assert state(people[0]) == TURNING


def turned(author: User) -> None:
    for _ in range(3):
        advance_states()
        drains.drain_all()
    assert state(author) == ON


def test_posts_are_pushed_again_with_far_fewer_followers_and_pulled_again_with_more(people: list[User]) -> None:
    author = people[0]
    turned(author)
    for left, expected in ((people[1:4], ON), (people[4:5], EASED)):
        Follow.objects.filter(follower__in=left).delete()
        drains.drain_all()
        advance_states()
        assert state(author) == expected
    assert not is_pulled_now(author.pk)
    follow(people[1:5], author)
    drains.drain_all()
    assert advance_states() == 1
    assert is_pulled_now(author.pk)


def test_a_new_state_captures_no_change(people: list[User]) -> None:
    turned(people[0])
    Change.objects.all()._raw_delete("default")
    Pulled.objects.update(state=EASED)
    assert not Change.objects.exists()


def test_followers_never_miss_a_post_or_see_it_twice(people: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two steps the author posts, and all followers read."""
    author, followers = people[0], people[1:6]
    warm_up(*people)
    monkeypatch.setattr(spread, "SLICE", 2)
    seen: list[tuple[str, bool]] = []
    for step in _steps(author, followers):
        step()
        made = Post.objects.create(user=author, text="and on", is_pulled=is_pulled_now(author.pk))
        seen.append((state(author), made.is_pulled))
        drains.drain_keys("post", [str(made.pk)])
        push.push_all()
        said = list(Post.objects.order_by("-pk").values_list("pk", flat=True)[:20])
        for follower in Follow.objects.filter(followee=author).values_list("follower_id", flat=True):
            with record() as asked:
                assert ids_of(get_home_timeline(follower)) == said
            assert asked.sql == []
    assert set(seen) == {(TURNING, False), (ON, True), (EASED, False)}


def _steps(author: User, followers: Sequence[User]) -> Iterator[Callable[[], object]]:
    """Yield all steps from too many followers to pushed posts and back."""
    yield advance_states
    while group := spread.next_group():
        yield partial(spread.step, group)
        yield advance_states
    for follower in followers:
        yield partial(drains.drain_keys, "follow", [f"{follower.pk}:{author.pk}"])
        yield advance_states
    yield Follow.objects.filter(follower__in=followers[:4]).delete
    yield drains.drain_all
    yield advance_states
    yield partial(_come_back, followers[:4], author)
    yield advance_states


def _come_back(followers: Sequence[User], author: User) -> None:
    follow(followers, author)
    drains.drain_all()
