"""The lock-out affects names and addresses with too many failures, and no others."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.lockout import limits
from accounts.lockout.models import FailedLogins
from accounts.models import User
from tests.support.accounts.lockout import (
    ELSEWHERE,
    HOME,
    LOGIN,
    PASSWORD,
    fail_logins,
    is_logged_in,
    log_in,
    record_hashing,
)
from tests.support.servers import RedisServer, wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("Alice", password=PASSWORD)


@pytest.fixture(params=["redis", "sql"])
def counted_in(request: pytest.FixtureRequest) -> str:
    """Run the test twice: with Redis, and while Redis is away."""
    if request.param == "sql":
        request.getfixturevalue("redis_server").kill()
    return str(request.param)


def test_the_attempt_after_five_failures_is_refused(client: Client, alice: User, counted_in: str) -> None:
    assert fail_logins() == [200] * 5
    with record_hashing() as runs:
        response = log_in(client, "alice")
    assert response.status_code == 429
    assert runs == []
    assert not is_logged_in(client)


def test_the_response_states_the_duration_of_the_lock_out(client: Client, alice: User, counted_in: str) -> None:
    fail_logins()
    response = log_in(client, "alice")
    assert 14 * 60 < int(response.headers["Retry-After"]) <= 15 * 60
    page = response.content.decode()
    assert "Please try again in 15 minutes." in page
    assert 'role="alert"' in page
    assert PASSWORD not in page


def test_an_unknown_name_is_locked_out_alike(client: Client, alice: User, counted_in: str) -> None:
    assert fail_logins("nobody at all") == fail_logins("alice")
    pages = [log_in(Client(), name) for name in ("alice", "nobody at all")]
    assert [page.status_code for page in pages] == [429, 429]
    assert pages[0].content == pages[1].content


def test_all_spellings_of_a_name_share_a_counter(alice: User) -> None:
    assert [fail_logins(name, 1) for name in ("alice", "ALICE", "Alice", "ａｌｉｃｅ", "aLice")] == [[200]] * 5
    assert fail_logins("alicE", 1) == [429]


def test_a_lock_out_of_one_name_affects_no_other_name(client: Client, alice: User, counted_in: str) -> None:
    User.objects.create_user("bob", password=PASSWORD)
    fail_logins("alice", 6)
    log_in(client, "bob")
    assert is_logged_in(client)


def test_the_owner_can_log_in_from_another_address(client: Client, alice: User, counted_in: str) -> None:
    fail_logins("alice", 6, address=ELSEWHERE)
    log_in(client, "alice", address=HOME)
    assert is_logged_in(client)


def test_the_owner_can_log_in_with_a_known_device(client: Client, alice: User, counted_in: str) -> None:
    """This holds even at the attacker's address, for example in a school."""
    log_in(client, "alice")
    client.post("/accounts/logout/")
    fail_logins("alice", 6)
    assert log_in(Client(), "alice").status_code == 429
    log_in(client, "alice")
    assert is_logged_in(client)


def test_attempts_of_a_known_device_are_limited(client: Client, alice: User, counted_in: str) -> None:
    log_in(client, "alice")
    client.post("/accounts/logout/")
    assert [log_in(client, "alice", "wrong").status_code for _ in range(6)] == [200] * 5 + [429]


@pytest.mark.parametrize("cookie", ["", "x", "eyJhIjoxfQ:1abc:xyz"])
def test_a_forged_cookie_is_no_known_device(client: Client, alice: User, cookie: str) -> None:
    client.cookies["device"] = cookie
    assert [log_in(client, "alice", "wrong").status_code for _ in range(6)] == [200] * 5 + [429]


def test_a_device_known_for_one_user_is_unknown_for_another(client: Client, alice: User) -> None:
    User.objects.create_user("mallory", password=PASSWORD)
    log_in(client, "mallory")
    client.post("/accounts/logout/")
    assert [log_in(client, "alice", "wrong").status_code for _ in range(6)] == [200] * 5 + [429]


def test_a_name_is_locked_from_all_addresses_after_very_many_failures(
    client: Client, alice: User, counted_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "NAME_LIMIT", limits.NAME_LIMIT._replace(allowed=12))
    for n in range(3):
        assert fail_logins("alice", 4, address=f"203.0.113.{n}") == [200] * 4
    assert log_in(client, "alice", address=HOME).status_code == 429
    assert fail_logins("bob", 1, address=HOME) == [200]


def test_attempts_from_one_address_are_limited(
    client: Client, alice: User, counted_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ADDRESS_LIMIT", limits.ADDRESS_LIMIT._replace(allowed=8))
    assert [fail_logins(f"reader {n}", 1) for n in range(9)] == [[200]] * 8 + [[429]]
    assert log_in(client, "alice").status_code == 429
    log_in(client, "alice", address=ELSEWHERE)
    assert is_logged_in(client)


def test_one_name_cannot_fill_the_counter_of_an_address(alice: User) -> None:
    fail_logins("bob", 30)
    address = FailedLogins.objects.get(kind="address")
    assert address.count == 5
    assert address.allowed == 100


@pytest.mark.django_db(transaction=True)  # Redis is told after the commit
def test_successful_logins_do_not_count_for_the_address(
    alice: User, counted_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ADDRESS_LIMIT", limits.ADDRESS_LIMIT._replace(allowed=2))
    clients = [Client() for _ in range(4)]
    for client in clients:
        log_in(client, "alice")
    assert all(map(is_logged_in, clients))


@pytest.mark.django_db(transaction=True)  # Redis is told after the commit
def test_a_successful_login_resets_the_counter(client: Client, alice: User, counted_in: str) -> None:
    fail_logins("alice", 4)
    log_in(client, "alice")
    assert is_logged_in(client)
    assert fail_logins("alice", 6) == [200] * 5 + [429]


def test_a_lock_out_ends(alice: User, redis: Redis) -> None:
    fail_logins("alice", 6)
    FailedLogins.objects.update(ends_at="2020-01-01T00:00Z")
    for key in redis.scan_iter(keys.tries("*")):
        assert 0 < redis.pttl(key) <= 3600 * 1000
        redis.pexpire(key, 1)
    wait_until(lambda: not list(redis.scan_iter(keys.tries("*"))), "the end of all counters")
    assert fail_logins("alice", 6) == [200] * 5 + [429]


def test_refused_attempts_do_not_prolong_a_lock_out(alice: User, redis: Redis) -> None:
    fail_logins("alice", 5)
    (pair,) = [key for key in redis.scan_iter(keys.tries("*")) if redis.get(key) == b"5" and redis.pttl(key) < 901_000]
    redis.pexpire(pair, 60_000)
    fail_logins("alice", 3)
    assert redis.pttl(pair) <= 60_000
    assert FailedLogins.objects.get(kind="pair").count == 5


def test_failures_survive_an_emptied_redis(alice: User, redis: Redis) -> None:
    assert fail_logins("alice", 3) == [200] * 3
    redis.flushdb()
    assert fail_logins("alice", 3) == [200, 200, 429]
    redis.flushdb()
    assert fail_logins("alice", 1) == [429]


def test_failures_without_redis_count_after_its_return(alice: User, redis_server: RedisServer) -> None:
    from mirror.redis.clients import breaker

    assert fail_logins("alice", 2) == [200] * 2
    redis_server.kill()
    assert fail_logins("alice", 2) == [200] * 2
    redis_server.start()
    breaker.reset()
    assert fail_logins("alice", 2) == [200, 429]


def test_keys_in_redis_reveal_neither_name_nor_address(alice: User, redis: Redis) -> None:
    fail_logins("alice")
    found = b" ".join(redis.scan_iter("*"))
    assert b"tries:{login}:" in found
    assert b"alice" not in found
    assert HOME.encode() not in found


def test_expired_rows_are_deleted(alice: User) -> None:
    fail_logins("bob", 1, ELSEWHERE)
    FailedLogins.objects.update(ends_at="2020-01-01T00:00Z")
    fail_logins("alice", 1)
    assert not FailedLogins.objects.filter(name="bob").exists()


@pytest.mark.parametrize(
    ("arguments", "freed"),
    [
        ([], [200, 200]),
        (["--name", "ALICE"], [200, 429]),
        (["--address", HOME], [200, 200]),
        (["--address", HOME, "--name", "Alice"], [200, 429]),
        (["--address", ELSEWHERE], [429, 429]),
    ],
)
def test_the_command_ends_lock_outs(
    alice: User, counted_in: str, arguments: list[str], freed: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    fail_logins("alice")
    fail_logins("bob")
    call_command("accounts", "unlock", *arguments)
    assert [fail_logins(name, 1)[0] for name in ("alice", "bob")] == freed


def test_logins_without_a_request_are_not_counted(alice: User) -> None:
    fail_logins("alice")
    assert Client().login(username="alice", password=PASSWORD)


def test_a_forwarded_address_counts_only_behind_a_trusted_proxy(alice: User, settings: Settings) -> None:
    def one(forwarded: str) -> int:
        given = {"username": "alice", "password": "wrong"}
        status: int = Client().post(LOGIN, given, HTTP_X_FORWARDED_FOR=forwarded).status_code
        return status

    assert [one(f"203.0.113.{n}") for n in range(6)] == [200] * 5 + [429]
    settings.PROXY_COUNT = 1
    assert [one(f"203.0.113.{n}") for n in range(6)] == [200] * 6
    assert [one(f"203.0.113.{n}, 203.0.113.77") for n in range(6)] == [200] * 5 + [429]


@pytest.mark.django_db(transaction=True)
def test_fifty_concurrent_attempts_check_five_passwords(alice: User, counted_in: str) -> None:
    def one(_: int) -> int:
        try:
            return fail_logins("alice", 1)[0]
        finally:
            connections.close_all()

    with record_hashing() as runs, ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(one, range(50)))
    assert (answers.count(200), answers.count(429)) == (5, 45)
    assert len(runs) == 5
    assert FailedLogins.objects.get(kind="pair").count == 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.only_on("postgres")
def test_concurrent_attempts_do_not_deadlock(counted_in: str) -> None:
    def one(n: int) -> Any:
        try:
            return fail_logins(f"reader {n % 3}", 1, address=f"192.0.2.{n % 5}")[0]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(one, range(60)))
    assert set(answers) <= {200, 429}
    total = {kind: sum(row.count for row in FailedLogins.objects.filter(kind=kind)) for kind in ("pair", "name")}
    assert total["pair"] == total["name"] == answers.count(200)
    assert connection.vendor == "postgresql"
