"""Rate limits of posts."""

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from mirror.redis.clients import breaker
from social.content.cleaning import MAX_INPUT_CODE_POINTS, clean
from social.models import Post
from tests.support.servers import RedisServer
from tests.support.social.timelines import make_users

JSON = "application/json"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def alice(client: Client, settings: Settings) -> User:
    """Create a reader with a limit of two posts per hour."""
    settings.POST_RATES = ((2, 3600), (100, 7200))
    user = make_users("alice")[0]
    client.force_login(user)
    return user


def say(client: Client, text: str = "hello", **more: Any) -> Any:
    return client.post("/posts/", {"text": text, **more.pop("data", {})}, **more)


def test_the_refusal_has_the_waiting_time_and_keeps_the_input(client: Client) -> None:
    for _ in range(2):
        assert say(client).status_code == 302
    for headers in ({}, {"HX-Request": "true"}):
        response = say(client, "a long <thought>", headers=headers)
        html = response.content.decode()
        assert response.status_code == 429
        wait = int(response.headers["Retry-After"])  # the rest of the hour, of which the test uses some
        assert 3000 < wait <= 3600
        assert f"Too many posts. You can post again in {-(-wait // 60)} minutes." in html
        assert "a long &lt;thought&gt;</textarea>" in html
        assert ("<html" in html) == (not headers)
    assert Post.objects.count() == 2


def test_json_has_the_refusal(client: Client) -> None:
    for _ in range(2):
        say(client)
    for more in ({"headers": {"Accept": JSON}}, {"content_type": JSON}):
        body: Any = {"text": "x"} if "headers" in more else json.dumps({"text": "x"})
        response = client.post("/posts/", body, **more)
        assert response.status_code == 429
        wait = int(response.headers["Retry-After"])
        assert f"{-(-wait // 60)} minutes" in response.json()["error"]["message"]


def test_every_rate_holds(client: Client, settings: Settings) -> None:
    settings.POST_RATES = ((100, 60), (1, 3600))
    assert [say(client).status_code for _ in range(2)] == [302, 429]


def test_readers_are_counted_separately(client: Client) -> None:
    for _ in range(3):
        last = say(client)
    assert last.status_code == 429
    client.force_login(make_users("bob")[0])
    assert say(client).status_code == 302


def test_refused_texts_do_not_count_as_posts(client: Client) -> None:
    for _ in range(5):
        assert say(client, "").status_code == 400
    assert say(client).status_code == 302


def test_repeated_keys_are_answered_and_do_not_count(client: Client) -> None:
    for _ in range(5):
        assert say(client, data={"key": "same"}).status_code == 302
    assert say(client).status_code == 302
    assert say(client).status_code == 429
    assert say(client, data={"key": "same"}).status_code == 302


def test_the_process_counts_without_redis(client: Client, redis_server: RedisServer) -> None:
    redis_server.kill()
    breaker.reset()
    assert [say(client).status_code for _ in range(3)] == [302, 302, 429]


def test_refused_texts_count_as_attempts_and_cleaning_stops_at_the_limit(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.POST_TRIES = (3, 3600)
    cleaned: list[str] = []

    def note(text: str) -> str:
        cleaned.append(text)
        return clean(text)

    monkeypatch.setattr("social.services.posts.clean", note)
    statuses = [say(client, text).status_code for text in ("", " ", "\u200d", "", "hello")]
    assert statuses == [400, 400, 400, 429, 429]
    assert len(cleaned) == 3


def test_an_overlong_text_is_not_cleaned(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("social.services.posts.clean", None)
    assert say(client, "x" * (MAX_INPUT_CODE_POINTS + 1)).status_code == 400


def test_a_post_is_cleaned_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned: list[str] = []
    monkeypatch.setattr("social.services.posts.clean", lambda text: cleaned.append(text) or clean(text))  # type: ignore[func-returns-value]
    assert say(client).status_code == 302
    assert cleaned == ["hello"]
