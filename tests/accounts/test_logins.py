"""A login counts once, in the SQL transaction of its session, and the next request shows it."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import auth
from django.contrib.auth.signals import user_logged_in
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys, services
from accounts.models import LoginStats, Session, User
from accounts.sessions.engine import SessionStore
from mirror.models import Change
from mirror.redis.recorder import record
from tests.support.accounts.people import NOON, assert_redis_equals_sql, make_people, warm_users
from tests.support.faults.tools import at_once
from tests.support.servers import RedisServer

PASSWORD = "a quiet bookshop"
PEOPLE, THREADS = 40, 50
LOGIN, BOARD = "/accounts/login/", "/accounts/leaderboard/"
BACKEND = "django.contrib.auth.backends.ModelBackend"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD, shows_logins=True)


def log_in(client: Client, name: str = "alice") -> HttpResponse:
    """Submit the login form and return the response."""
    response: HttpResponse = client.post(LOGIN, {"username": name, "password": PASSWORD})  # type: ignore[assignment]
    return response


def count_of(user: User) -> int:
    """Return the number of logins in SQL."""
    return LoginStats.objects.filter(user=user).values_list("login_times", flat=True).first() or 0


def board(client: Client, query: str = "") -> dict[str, Any]:
    """Return the leaderboard as JSON."""
    found: dict[str, Any] = client.get(BOARD + query, headers={"Accept": "application/json"}).json()
    return found


def test_a_login_is_mirrored_to_redis(alice: User, redis: Redis) -> None:
    warm_users()
    services.record_login(alice, NOON)
    services.record_login(alice, NOON + timedelta(hours=1))
    said = {k.decode(): v.decode() for k, v in redis.hgetall(keys.login(alice.pk)).items()}
    assert said == {
        "id": str(alice.pk),
        "name": "alice",
        "name_key": "alice",
        "user_type": "client",
        "is_active": "1",
        "is_private": "0",
        "avatar": "",
        "shows_logins": "1",
        "login_times": "2",
        "last_login_time": "2026-03-01T13:00:00+00:00",
    }
    assert redis.zscore(keys.login_times(), alice.pk) == 2
    assert redis.lrange(keys.last_login_times(), 0, -1) == [str(alice.pk).encode()]
    assert_redis_equals_sql()


def test_an_earlier_login_counts_but_does_not_replace_the_last_one(alice: User) -> None:
    services.record_login(alice, NOON)
    services.record_login(alice, NOON - timedelta(days=1))
    assert LoginStats.objects.values_list("login_times", "last_login_time").get() == (2, NOON)
    services.record_login(alice, NOON + timedelta(microseconds=1))
    assert LoginStats.objects.get().last_login_time == NOON + timedelta(microseconds=1)


def test_concurrent_first_logins_all_count(alice: User) -> None:
    start = threading.Barrier(8)

    def run() -> None:
        start.wait()
        services.record_login(alice, NOON)

    with at_once(*[run] * 8):
        pass
    assert count_of(alice) == 8
    warm_users()
    assert_redis_equals_sql()


def test_each_kind_of_login_counts_once(client: Client, alice: User) -> None:
    log_in(client)
    assert count_of(alice) == 1
    client.get("/")
    client.post("/accounts/logout/")
    assert count_of(alice) == 1
    client.force_login(alice)
    assert count_of(alice) == 2
    log_in(Client(), "ALICE")
    assert count_of(alice) == 3
    newcomer = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD}
    Client().post("/accounts/register/", newcomer)
    assert count_of(User.objects.get(username="bob")) == 1


def test_a_wrong_password_does_not_count(client: Client, alice: User) -> None:
    client.post(LOGIN, {"username": "alice", "password": "wrong"})
    assert count_of(alice) == 0


def test_the_next_request_shows_the_login(client: Client, alice: User) -> None:
    make_people([3, 1])
    warm_users()
    log_in(client)
    page = board(client)
    assert page["me"] == {"rank": 2, "id": alice.pk, "name": "alice", "login_times": 1}
    assert page["last"][0]["name"] == "alice"
    log_in(Client())
    assert board(client)["me"]["login_times"] == 2
    assert not Change.objects.pending().exists()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the transaction of a login fail: at the session, at the count, or afterwards."""

    def fail(where: str) -> None:
        def broken(*args: Any, **kwargs: Any) -> None:
            raise ZeroDivisionError

        if where == "session":
            monkeypatch.setattr(SessionStore, "save", broken)
        elif where == "count":
            monkeypatch.setattr(services, "_RECORD_LOGIN_SQL", "SELECT 1 / 0 FROM nowhere WHERE %s = %s")
        else:
            user_logged_in.connect(broken, weak=False, dispatch_uid="failing")

    yield fail
    user_logged_in.disconnect(dispatch_uid="failing")


@pytest.mark.parametrize("where", ["session", "count", "afterwards"])
def test_a_failed_login_leaves_neither_count_nor_session(alice: User, failing: Any, where: str) -> None:
    warm_users()
    client = Client(raise_request_exception=False)
    failing(where)
    response = log_in(client)
    assert response.status_code == 500
    assert "sessionid" not in response.cookies
    assert (LoginStats.objects.count(), Session.objects.count()) == (0, 0)
    assert board(client)["count"] == 0
    assert_redis_equals_sql()


@pytest.mark.parametrize("where", ["session", "count", "afterwards"])
def test_a_failed_login_restores_the_previous_session(alice: User, failing: Any, where: str) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD)
    client = Client()
    log_in(client, "bob")
    request: Any = RequestFactory().get("/")
    request.session = SessionStore(client.session.session_key)
    request.user = auth.get_user(request)
    failing(where)
    with pytest.raises(Exception):  # noqa: B017, PT011  any error
        services.log_in(request, alice, backend=BACKEND)
    assert request.user == auth.get_user(request) == bob
    assert not request.session.modified
    assert count_of(alice) == 0
    assert client.get("/accounts/leaderboard/").wsgi_request.user == bob


def test_a_login_is_counted_in_one_statement(alice: User) -> None:
    with record() as seen:
        services.record_login(alice)
    inserts = [
        sql for sql, _ in seen.sql if "accounts_loginstats" in sql and sql.lstrip().startswith(("INSERT", "UPDATE"))
    ]
    assert len(inserts) == 1


def test_inactive_and_deleted_users_leave_the_leaderboard(client: Client, alice: User) -> None:
    people = make_people([5, 4])
    warm_users()
    log_in(client)
    User.objects.filter(pk=people[0].pk).update(is_active=False)
    people[1].delete()
    assert_redis_equals_sql()
    assert [p["name"] for p in board(client)["most"]] == [p["name"] for p in board(client)["last"]] == ["alice"]
    User.objects.filter(pk=people[0].pk).update(is_active=True)
    assert_redis_equals_sql()
    assert [p["name"] for p in board(client)["most"]] == [people[0].username, "alice"]


def test_an_emptied_redis_loses_neither_users_nor_counts(client: Client, alice: User, redis: Redis) -> None:
    make_people([7, 1])
    warm_users()
    log_in(client)
    before = board(client)
    redis.flushdb()
    assert board(client) == before
    assert before["me"]["name"] == "alice"
    log_in(Client())
    assert board(client)["me"]["login_times"] == 2
    warm_users()
    with record() as seen:
        assert board(client)["me"]["login_times"] == 2
    assert not any("accounts_loginstats" in sql for sql, _ in seen.sql)


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_login_and_leaderboard_work_without_redis(redis_server: RedisServer, alice: User, fault: str) -> None:
    make_people([7, 1])
    warm_users()
    client = Client()
    getattr(redis_server, fault)()
    assert log_in(client).status_code == 302
    assert board(client)["me"] == {"rank": 2, "id": alice.pk, "name": "alice", "login_times": 1}
    assert client.get("/").status_code == client.get(BOARD).status_code == 200


@pytest.mark.slow(30)
@pytest.mark.only_on("postgres")  # PostgreSQL writes concurrently
def test_two_hundred_concurrent_logins_all_count(redis: Redis, settings: Settings) -> None:
    all_count(200, redis, settings)


@pytest.mark.only_on("sqlite")  # SQLite writes one at a time
def test_one_hundred_concurrent_logins_all_count(redis: Redis, settings: Settings) -> None:
    all_count(100, redis, settings)


def all_count(logins: int, redis: Redis, settings: Settings) -> None:
    """Log in through the form, unevenly distributed over 40 users, and compare the leaderboard with SQL.

    Each login has its own address, because more than five concurrent attempts of one name at one address are refused.
    """
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast: this test is about counts
    people = [User(username=f"reader {n}") for n in range(PEOPLE)]
    for user in people:
        user.set_password(PASSWORD)
    people = User.objects.bulk_create(people)
    warm_users()
    expected = [0] * PEOPLE
    todo = [(n, min(n % PEOPLE, n * 7 % PEOPLE)) for n in range(logins)]
    for _, number in todo:
        expected[number] += 1
    statuses: list[int] = []

    def run() -> None:
        while todo:
            try:
                n, number = todo.pop()
            except IndexError:
                return
            client = Client(REMOTE_ADDR=f"198.18.{n // 256}.{n % 256}")
            statuses.append(log_in(client, f"reader {number}").status_code)

    with at_once(*[run] * THREADS):
        pass
    assert statuses == [302] * logins
    assert_redis_equals_sql()
    assert [count_of(user) for user in people] == expected
    ranking = sorted(((n, str(user.pk)) for n, user in zip(expected, people, strict=True) if n), reverse=True)
    said = redis.zrevrange(keys.login_times(), 0, -1, withscores=True)
    assert [(score, pk.decode()) for pk, score in said] == ranking
    newest = LoginStats.objects.order_by("-last_login_time", "-user_id").values_list("user_id", flat=True)
    assert list(map(int, redis.lrange(keys.last_login_times(), 0, -1))) == list(newest)
    assert Session.objects.count() == logins
