"""The cost of a post in the author's request: one small step, bounded for any number of followers."""

from collections.abc import Sequence

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from mirror.models import Change
from mirror.redis.recorder import record
from mirror.relay import drains, send
from mirror.windows import deliver, push
from social.models import Pulled
from social.selectors import get_home_timeline
from social.services.posts import create_post
from social.timelines.pulling import advance_states
from tests.support.social.timelines import follow, ids_of, make_users, warm_up

pytestmark = pytest.mark.django_db(transaction=True)
WRITES = ("INSERT", "UPDATE", "DELETE")


@pytest.fixture(autouse=True)
def unhurried(settings: Settings, redis: Redis) -> None:
    """Give requests an ample budget, so that the load of the machine and the order of tests do not matter."""
    deliver.script.load(redis)  # without it the first step would run twice
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 60}


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Record the posts that are sent to workers to push."""
    found: list[Sequence[str]] = []

    def note(mirror: str, source: str, keys: Sequence[str]) -> bool:
        found.append(keys)
        return True

    monkeypatch.setattr(send, "push", note)
    return found


def town(followers: int) -> tuple[User, list[User]]:
    """Create an author with ``followers`` followers and warm timelines."""
    author, *others = make_users(*(f"reader {followers} {n}" for n in range(followers + 1)))
    for other in others:
        follow(other, author)
    warm_up(author, *others)
    return author, others


def cost(author: User) -> tuple[list[str], int]:
    """Return the writing statements and the number of Redis commands when this author posts."""
    with record() as seen:
        create_post(author.pk, "Hear, hear.")
    return [sql.split(" WHERE ")[0] for sql, _ in seen.sql if sql.startswith(WRITES)], len(seen.commands)


def test_a_request_pushes_to_the_author_and_some_followers_and_leaves_the_rest_to_a_worker(
    sent: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "FIRST", 5)
    author, others = town(12)
    made = create_post(author.pk, "Hear, hear.")
    assert ids_of(get_home_timeline(author.pk)) == [made.pk]
    assert [other for other in others if ids_of(get_home_timeline(other.pk))] == others[:5]
    [keys] = sent
    assert push.work("timeline", "social_post", keys) == 1
    assert all(ids_of(get_home_timeline(other.pk)) == [made.pk] for other in others)


def test_the_cost_of_a_pulled_post_does_not_grow_with_followers(settings: Settings, sent: list[Sequence[str]]) -> None:
    """No follower is read or written, so a million followers cost the same."""
    settings.SOCIAL_PULL_FOLLOWERS = 3
    costs = []
    for followers in (4, 40):
        author, others = town(followers)
        create_post(author.pk, "before")
        for _ in range(3):
            advance_states()
            drains.drain_all()
        assert Pulled.objects.get(pk=author.pk).state == Pulled.State.ON
        costs.append(cost(author))
        assert not Change.objects.pending().exists()
        assert len(ids_of(get_home_timeline(others[-1].pk))) == 2
    assert costs[0] == costs[1]
    assert sum(sql.startswith('INSERT INTO "social_post"') for sql in costs[0][0]) == 1
    assert sent == []


def test_a_request_pushes_to_a_bounded_number_of_followers(sent: list[Sequence[str]]) -> None:
    author, _ = town(push.FIRST + 20)
    with record() as seen:
        create_post(author.pk, "Hear, hear.")
    calls = [command for command in seen.commands if deliver.script.digest in command.args[:1]]
    assert len(calls) == push.FIRST + 1
    assert len(sent) == 1
