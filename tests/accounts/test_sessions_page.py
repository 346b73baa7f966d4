"""The page of the user's own sessions."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from accounts import keys
from accounts.models import LastSeen, Session, User
from accounts.sessions import listing as session_list
from accounts.sessions.listing import list_sessions, make_handle
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.accounts.sessions import FIREFOX, SAFARI, log_in, read_digest
from tests.support.servers import RedisServer
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/accounts/sessions/"


@pytest.fixture(autouse=True)
def warm_sessions() -> None:
    rebuild(["session", "notification"])


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def desk(alice: User) -> Client:
    return log_in(alice, FIREFOX)


@pytest.fixture
def phone(alice: User, desk: Client) -> Client:
    phone = log_in(alice, SAFARI)
    drain_all()  # the hash of the password may have been replaced
    desk.get(PATH)  # removes the cookie that waits for it
    return phone


def is_in(client: Client) -> bool:
    return client.get(PATH).status_code == 200


def test_the_page_lists_sessions_in_three_round_trips(desk: Client, phone: Client) -> None:
    with record() as seen:
        page = desk.get(PATH)
    assert [(s.device, s.is_present) for s in page.context["sessions"]] == [
        ("Safari on iPhone", False),
        ("Firefox on Windows", True),
    ]
    assert (seen.round_trips, seen.sql) == (3, [])  # one of them reads the session of the request
    html = page.content.decode()
    assert "Safari on iPhone" in html
    assert html.count("This browser") == 1
    assert html.index("Firefox on Windows") < html.index("Safari on iPhone")  # the present one is the first
    assert page.headers["Cache-Control"] == "private, no-cache"


def test_the_page_has_neither_tokens_nor_whole_digests(desk: Client, phone: Client) -> None:
    html = desk.get(PATH).content.decode()
    for client in (desk, phone):
        assert client.cookies["sessionid"].value not in html
        assert read_digest(client) not in html


def test_redis_and_sql_give_the_same_list(desk: Client, phone: Client, alice: User, redis: Redis) -> None:
    drain_all()
    for client in (desk, phone):
        moment = redis.zscore(keys.recent(), read_digest(client)) or 0.0
        LastSeen.objects.create(session_id=read_digest(client), seen_at=datetime.fromtimestamp(moment, tz=UTC))
    by_redis = list_sessions(alice.pk, read_digest(desk))
    with sql_only(), record() as seen:
        assert list_sessions(alice.pk, read_digest(desk)) == by_redis
    assert (seen.round_trips, len(seen.sql)) == (0, 2)
    assert len(by_redis) == 2


def test_the_page_shows_the_last_use_of_a_session(desk: Client, phone: Client, redis: Redis) -> None:
    hour_ago = redis.time()[0] - 3600.0
    redis.zadd(keys.recent(), {read_digest(phone): hour_ago})
    assert "Last used 1\xa0hour ago" in desk.get(PATH).content.decode()
    redis.zrem(keys.recent(), read_digest(phone))
    assert "Last use unknown" in desk.get(PATH).content.decode()


def test_an_ended_session_is_logged_out_at_its_next_request(desk: Client, phone: Client) -> None:
    response = desk.post(PATH, {"end": make_handle(read_digest(phone))})
    assert response.headers["Location"] == PATH
    assert "That browser is logged out." in desk.get(PATH).content.decode()
    assert not is_in(phone)
    assert is_in(desk)


def test_all_other_sessions_can_be_ended(desk: Client, phone: Client, alice: User) -> None:
    third = log_in(alice, "")
    bob = log_in(User.objects.create_user("bob"), FIREFOX)
    page = desk.post(PATH, {"others": "1"}, follow=True).content.decode()
    assert "Logged out 2 other browsers." in page
    assert "You are not logged in anywhere else." in page
    assert [is_in(c) for c in (desk, phone, third, bob)] == [True, False, False, True]


def test_the_current_session_can_be_ended(desk: Client, phone: Client) -> None:
    response = desk.post(PATH, {"end": make_handle(read_digest(desk))})
    assert response.headers["Location"] == "/"
    assert not is_in(desk)
    assert is_in(phone)


def test_an_ended_session_is_removed_from_redis(desk: Client, phone: Client, alice: User, redis: Redis) -> None:
    digest = read_digest(phone)
    desk.post(PATH, {"end": make_handle(digest)})
    assert redis.exists(keys.session(digest)) == 0
    assert redis.zscore(keys.recent(), digest) is None
    assert redis.hexists(keys.tokens(), digest) == 0
    assert redis.zscore(keys.sessions_of(alice.pk), digest) is None


def test_sessions_of_other_users_are_not_found(desk: Client) -> None:
    bob = log_in(User.objects.create_user("bob"), FIREFOX)
    assert desk.post(PATH, {"end": make_handle(read_digest(bob))}).status_code == 404
    assert desk.post(PATH, {"end": read_digest(bob)}).status_code == 404
    assert is_in(bob)


@pytest.mark.parametrize("handle", ["", "%", "x" * 16, "_" * 16, "%" * 16, "\0" * 16, "☂" * 16, "a" * 5000])
def test_an_invalid_handle_is_not_found(handle: str, desk: Client, phone: Client) -> None:
    assert desk.post(PATH, {"end": handle}).status_code == 404
    assert Session.objects.count() == 2


def test_anonymous_visitors_are_redirected_to_login() -> None:
    for ask in (Client().get, Client().post):
        assert ask(PATH).headers["Location"] == f"/accounts/login/?next={PATH}"


def test_another_site_cannot_end_sessions(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(PATH, {"others": "1"}).status_code == 403


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_not_allowed(method: str, desk: Client) -> None:
    assert getattr(desk, method)(PATH).status_code == 405


def test_an_expired_session_is_not_shown(desk: Client, phone: Client) -> None:
    Session.objects.filter(pk=read_digest(phone)).update(expire_date="2001-01-01T00:00:00Z")
    drain_all()
    assert len(desk.get(PATH).context["sessions"]) == 1
    with sql_only():
        assert len(desk.get(PATH).context["sessions"]) == 1


def test_the_name_of_a_device_is_escaped(alice: User) -> None:
    client = log_in(alice, "<script>alert(1)</script>" * 100)
    Session.objects.update(device="<b>bold</b>")
    drain_all()
    html = client.get(PATH).content.decode()
    assert "<b>bold" not in html
    assert "<script>alert" not in html


@pytest.mark.parametrize("by", [lambda f: f(), lambda f: _by_sql(f)], ids=["redis", "sql"])
def test_the_page_shows_the_newest_sessions_and_the_current_one(
    by: Callable[[Callable[[], Any]], Any], desk: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_list, "MAX_SESSIONS", 3)
    clients = [log_in(alice, FIREFOX) for _ in range(5)]
    drain_all()
    lines = by(lambda: list_sessions(alice.pk, read_digest(desk)))
    newest = [make_handle(read_digest(c)) for c in reversed(clients)][:3]
    assert [line.handle for line in lines] == [*newest, make_handle(read_digest(desk))]
    assert [line.is_present for line in lines] == [False, False, False, True]


def _by_sql(ask: Callable[[], Any]) -> Any:
    with sql_only():
        return ask()


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_the_page_works_without_redis(harm: str, redis_server: RedisServer, alice: User) -> None:
    rebuild(["session"])
    desk, phone = log_in(alice, FIREFOX), log_in(alice, SAFARI)
    getattr(redis_server, harm)()
    assert [s.device for s in desk.get(PATH).context["sessions"]] == ["Safari on iPhone", "Firefox on Windows"]
    desk.post(PATH, {"others": "1"})
    assert not is_in(phone)
    assert is_in(desk)
