"""Neither the text of a response nor the work for it reveals existing names. Work is counted, not timed."""

import re
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.lockout.models import FailedLogins
from accounts.models import AccountDeletion, User
from accounts.passwords.hashers import Argon2PasswordHasher
from mirror.models import Change
from mirror.redis.recorder import record
from tests.support.accounts.lockout import HOME, LOGIN, PASSWORD, fail_logins, record_hashing
from tests.support.servers import RedisServer

REGISTER = "/accounts/register/"
VARYING = ("Expires", "Retry-After", "X-Request-ID", "Content-Length")  # the length depends on the typed text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def people(client: Client) -> None:
    User.objects.create_user("alice", password=PASSWORD, email="alice@example.org")
    User.objects.create_user("bob", password=PASSWORD, is_active=False)
    User.objects.create_user("carol")  # has no password
    dan = User.objects.create_user("dan", password=PASSWORD, is_active=False)
    due_at = timezone.now() + timedelta(days=14)
    AccountDeletion.objects.create(user=dan, asked_at=timezone.now(), due_at=due_at)
    Change.objects.all().delete()  # no pending changes
    client.get(LOGIN)  # warm up queries that run once per process


class Seen(NamedTuple):
    """A response and the work for it."""

    status: int
    body: str
    headers: dict[str, str]
    hashes: int
    sql: list[str]
    redis: list[str]


def send(path: str, **given: str) -> Seen:
    client = Client()
    with record_hashing() as runs, record() as seen:
        response: Any = client.post(path, given, REMOTE_ADDR=HOME)
    body = response.content.decode()
    for value in given.values():  # the page repeats the typed text
        body = body.replace(f'value="{value}"', "")
    body = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", body)
    statements = [re.sub(r'SAVEPOINT "?\w+"?', "SAVEPOINT", statement) for statement, _ in seen.sql]
    commands = [f"{command.name} {len(command.args)}" for command in seen.commands]
    headers = {name: value for name, value in response.headers.items() if name not in VARYING}
    return Seen(response.status_code, body, headers, len(runs), statements, commands)


def log_in(name: str, password: str) -> Seen:
    return send(LOGIN, username=name, password=password)


def register(name: str, password: str = PASSWORD) -> Seen:
    return send(REGISTER, username=name, email="", password1=password, password2=password)


@pytest.mark.parametrize("away", [False, True], ids=["with redis", "without"])
@pytest.mark.parametrize(
    ("name", "password"),
    [("nobody at all", "wrong"), ("bob", PASSWORD), ("bob", "wrong"), ("carol", "wrong"), ("dan", "wrong")],
)
def test_wrong_password_and_unknown_name_give_the_same_response_and_work(
    away: bool, name: str, password: str, redis_server: RedisServer, settings: Settings
) -> None:
    log_in("warm up", "wrong")
    if away:
        redis_server.kill()
        settings.MIRROR = settings.MIRROR | {"BREAKER_SECONDS": 3600}  # one attempt, even on a slow machine
        log_in("warm up", "wrong")
    wrong = log_in("alice", "wrong")
    assert wrong.hashes == 1
    assert wrong.status == 200
    assert any("accounts_user" in statement for statement in wrong.sql)
    assert log_in(name, password) == wrong


def test_lock_outs_of_known_and_unknown_names_give_the_same_response_and_work() -> None:
    for name in ("alice", "nobody at all", "bob"):
        fail_logins(name)
    locked = log_in("alice", PASSWORD)
    assert (locked.status, locked.hashes) == (429, 0)
    assert not any("accounts_user" in statement for statement in locked.sql)
    assert log_in("nobody at all", "wrong") == locked
    assert log_in("bob", PASSWORD) == locked


@pytest.mark.parametrize("name", ["ALICE", "bob", "admin", "Ad-Min", "login", "followers", "a1ice"])
def test_all_unavailable_names_give_the_same_response_and_work(name: str) -> None:
    register("warm-up")
    taken = register("alice")
    assert (taken.status, taken.hashes) == (200, 1)
    assert "That name is already taken." in taken.body
    assert register(name) == taken


@pytest.mark.parametrize("name", ["a/b", "two  blanks", "-", "p\u0430ypal", "evil.com"])
def test_a_wrong_format_is_named_before_any_look_at_other_users(name: str) -> None:
    register("warm-up")
    said = register(name)
    assert (said.status, said.hashes) == (200, 0)
    assert not any("accounts_user" in statement for statement in said.sql)
    assert "already taken" not in said.body


@pytest.mark.parametrize("name", ["alice", "bob", "admin"])
def test_the_name_is_checked_only_after_all_other_fields_are_valid(name: str) -> None:
    """Otherwise a weak password could probe names without registering them."""
    register("warm-up", "short")
    free = register("nobody yet", "short")
    assert (free.status, free.hashes) == (200, 0)
    assert not any("accounts_user" in statement for statement in free.sql)
    assert register(name, "short") == free


def test_a_known_address_is_accepted_like_a_new_one() -> None:
    given = {"password1": PASSWORD, "password2": PASSWORD}
    one = send(REGISTER, username="dave", email="alice@example.org", **given)
    two = send(REGISTER, username="erin", email="erin@example.org", **given)
    assert (one.status, one.hashes, one.headers["Location"]) == (two.status, two.hashes, two.headers["Location"])
    assert one.status == 302


@pytest.mark.parametrize("hasher", ["pbkdf2_sha256", "with other parameters"])
def test_an_old_hash_is_renewed_at_login(client: Client, hasher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = User.objects.get(username="alice")
    alice.password = make_password(PASSWORD, hasher="argon2" if " " in hasher else hasher)
    alice.save()
    monkeypatch.setattr(Argon2PasswordHasher, "memory_cost", 128)
    assert client.post(LOGIN, {"username": "alice", "password": PASSWORD}).status_code == 302
    alice.refresh_from_db()
    assert "$m=128,t=1,p=1$" in alice.password
    assert alice.check_password(PASSWORD)
    assert client.get(LOGIN).status_code == 302, "still logged in"


def test_failures_are_counted_for_known_and_unknown_names() -> None:
    log_in("alice", "wrong")
    log_in("nobody at all", "wrong")
    assert set(FailedLogins.objects.filter(kind="pair").values_list("name", "count")) == {
        ("alice", 1),
        ("nobody at all", 1),
    }
