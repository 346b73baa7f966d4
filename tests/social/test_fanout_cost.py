"""What a post costs its author: one small step, and with very many followers no more than that of anybody."""

from collections.abc import Sequence

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from mirror import deliver, push, relay, send
from mirror.models import Change
from mirror.recorder import record
from social.models import Pulled
from social.pulled import settle
from social.selectors import home_timeline
from social.services.posts import post
from tests.support.social.timelines import follow, ids, people, warm_up

pytestmark = pytest.mark.django_db(transaction=True)
WRITES = ("INSERT", "UPDATE", "DELETE")


@pytest.fixture(autouse=True)
def unhurried(settings: Settings, redis: Redis) -> None:
    """A request has all the time it needs, however busy the machine is, and whichever test comes first."""
    deliver.script.load(redis)  # else the first step is done twice
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 60}


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The posts that workers were told to push on."""
    found: list[Sequence[str]] = []

    def note(mirror: str, source: str, keys: Sequence[str]) -> bool:
        found.append(keys)
        return True

    monkeypatch.setattr(send, "push", note)
    return found


def town(followers: int) -> tuple[User, list[User]]:
    """Somebody, and so many who follow; all timelines are warm."""
    author, *others = people(*(f"reader {followers} {n}" for n in range(followers + 1)))
    for other in others:
        follow(other, author)
    warm_up(author, *others)
    return author, others


def cost(author: User) -> tuple[list[str], int]:
    """The statements that write, and how many commands Redis gets, when this author posts."""
    with record() as seen:
        post(author.pk, "Hear, hear.")
    return [sql.split(" WHERE ")[0] for sql, _ in seen.sql if sql.startswith(WRITES)], len(seen.commands)


def test_a_post_is_everywhere_at_once_for_its_author_and_some_and_the_rest_is_a_workers(
    sent: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "FIRST", 5)
    author, others = town(12)
    made = post(author.pk, "Hear, hear.")
    assert ids(home_timeline(author.pk)) == [made.pk]
    assert [other for other in others if ids(home_timeline(other.pk))] == others[:5]
    [keys] = sent
    assert push.work("timeline", "social_post", keys) == 1
    assert all(ids(home_timeline(other.pk)) == [made.pk] for other in others)


def test_an_author_whose_posts_are_fetched_pays_the_same_for_ten_times_as_many_followers(
    settings: Settings, sent: list[Sequence[str]]
) -> None:
    """So it is with a million: nothing is asked of, or told to, any follower."""
    settings.SOCIAL_PULL_FOLLOWERS = 3
    costs = []
    for followers in (4, 40):
        author, others = town(followers)
        post(author.pk, "before")
        for _ in range(3):
            settle()
            relay.drain_all()
        assert Pulled.objects.get(pk=author.pk).state == Pulled.State.ON
        costs.append(cost(author))
        assert not Change.objects.pending().exists()
        assert len(ids(home_timeline(others[-1].pk))) == 2
    assert costs[0] == costs[1]
    assert sum(sql.startswith('INSERT INTO "social_post"') for sql in costs[0][0]) == 1
    assert sent == []


def test_the_request_reaches_a_few_however_many_follow(sent: list[Sequence[str]]) -> None:
    author, _ = town(push.FIRST + 20)
    with record() as seen:
        post(author.pk, "Hear, hear.")
    calls = [command for command in seen.commands if deliver.script.digest in command.args[:1]]
    assert len(calls) == push.FIRST + 1
    assert len(sent) == 1
