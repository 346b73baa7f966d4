"""Malicious or malformed input to login and registration gets an explanation and never a server error."""

from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client
from redis import Redis

from accounts.models import User
from accounts.views import entry
from mirror.redis.recorder import record
from tests.support.accounts.lockout import LOGIN, PASSWORD, is_logged_in, log_in, record_hashing
from tests.support.servers import RedisServer

REGISTER = "/accounts/register/"
FORM = "application/x-www-form-urlencoded"

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


def register(client: Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    return client.post(REGISTER, {"username": name, "password1": password, "password2": password, **more})


ODD = ["", " ", "\t\n ", "\u3000\u00a0", "a\0b", "\0", "x" * 10_000, "\u200b", "\u2800alice", "👻" * 50]


@pytest.mark.parametrize("name", ODD)
def test_login_with_an_odd_name_fails_with_an_error_message(client: Client, alice: User, name: str) -> None:
    response = log_in(client, name)
    assert response.status_code == 200
    form = response.context["form"]
    assert form.errors.get("username") or form.non_field_errors()
    assert not is_logged_in(client)


def test_invisible_characters_in_a_name_do_not_matter(client: Client, alice: User) -> None:
    log_in(client, "\u202ealice\u200b")
    assert is_logged_in(client)


@pytest.mark.parametrize("name", ODD)
def test_registration_with_an_odd_name_fails_with_an_error_message(client: Client, name: str) -> None:
    response = register(client, name)
    assert response.status_code == 200
    assert response.context["form"].errors["username"]
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "x" * 61, "x" * 10_000])
def test_invalid_names_cost_neither_a_hash_nor_a_query(client: Client, alice: User, name: str) -> None:
    with record_hashing() as runs, record() as seen:
        log_in(client, name)
    assert runs == []
    assert seen.sql == []


@pytest.mark.parametrize("password", ["", "x" * 1001, "x" * 1_000_000, "a\0b"])
def test_overlong_passwords_are_refused_without_hashing(client: Client, alice: User, password: str) -> None:
    with record_hashing() as runs:
        assert log_in(client, "alice", password).context["form"].errors["password"]
        assert register(client, "bob", password).context["form"].errors["password1"]
    assert runs == []


@pytest.mark.parametrize("path", [LOGIN, REGISTER])
@pytest.mark.parametrize(
    "raw", [b"username=%ff%fe&password=%ff&next=%ff", b"username=\xff\xfe&password1=\xff", b"&&;=;&", b""]
)
def test_invalid_bytes_show_the_form_again(client: Client, path: str, raw: bytes) -> None:
    assert client.generic("POST", path, raw, content_type=FORM).status_code == 200


ENCODINGS = ["utf-7", "utf-16", "nonsense", "idna", "unicode_escape", "base64"]


@pytest.mark.parametrize("path", [LOGIN, REGISTER, "/accounts/logout/"])
def test_forms_in_other_encodings_are_refused(client: Client, path: str) -> None:
    """A lone surrogate, which UTF-7 can encode, could neither be stored nor rendered."""
    part = '--x\r\nContent-Disposition: form-data; name="username"\r\n\r\n+2AA-\r\n--x--\r\n'
    for encoding in ENCODINGS:
        for kind in ("multipart/form-data; boundary=x", FORM):
            response = client.generic("POST", path, part, content_type=f"{kind}; charset={encoding}")
            assert response.status_code == 400


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", "; charset=UTF8", '; charset="utf-8"'])
def test_forms_in_utf8_are_accepted(client: Client, alice: User, charset: str) -> None:
    part = '--x\r\nContent-Disposition: form-data; name="username"\r\n\r\nalic\xe9\r\n--x--\r\n'
    response = client.generic("POST", LOGIN, part, content_type=f"multipart/form-data; boundary=x{charset}")
    assert 'value="alic\xe9"' in response.content.decode()


ODD_QUERIES = ["next=%ff", "next=%00", "next=//%5b", "next=http://[", "next=" + "x" * 8000]


@pytest.mark.parametrize("path", [LOGIN, REGISTER])
def test_odd_values_of_next_cause_no_error(client: Client, path: str) -> None:
    for query in ODD_QUERIES:
        assert client.get(f"{path}?{query}").status_code == 200


ELSEWHERE = [
    "https://evil.example/", "//evil.example", "///evil.example", "https:evil.example", "https:///evil.example",
    "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "javascript:alert(1)", "JaVaScRiPt:alert(1)",
    "data:text/html,x", "http://testserver@evil.example/", "//testserver:80@evil.example", "\x01https://evil.example",
]  # fmt: skip


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
@pytest.mark.parametrize("how", ["query", "form", "both"])
def test_next_never_redirects_to_another_site(client: Client, alice: User, elsewhere: str, how: str) -> None:
    query = {"next": elsewhere} if how != "form" else None
    body = {"next": elsewhere} if how != "query" else {}
    given = {"username": "alice", "password": PASSWORD, **body}
    assert client.post(LOGIN, given, query_params=query).headers["Location"] == "/"
    new = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD, **body}
    assert Client().post(REGISTER, new, query_params=query).headers["Location"] == "/welcome/"
    assert client.get(LOGIN, {"next": elsewhere}).headers["Location"] == "/"


@pytest.mark.parametrize("path", [LOGIN, REGISTER])
def test_forms_drop_a_next_url_of_another_site(client: Client, path: str) -> None:
    for elsewhere in ELSEWHERE:
        assert client.get(path, {"next": elsewhere}).context["next"] == ""


@pytest.mark.parametrize("door", [LOGIN, REGISTER, "/accounts/logout/", LOGIN + "?next=/"])
@pytest.mark.parametrize("path", [LOGIN, REGISTER])
def test_login_never_redirects_back_to_a_login_page(client: Client, alice: User, path: str, door: str) -> None:
    client.force_login(alice)
    assert client.get(path, {"next": door}).headers["Location"] == "/"


@pytest.mark.parametrize("path", [LOGIN, REGISTER])
def test_forms_of_other_sites_cannot_log_visitors_in(alice: User, path: str) -> None:
    """Such a form could make a visitor act in the account of an attacker."""
    client = Client(enforce_csrf_checks=True)
    given = {"username": "alice", "password": PASSWORD, "password1": PASSWORD, "password2": PASSWORD}
    with record_hashing() as runs:
        assert client.post(path, given).status_code == 403
    assert runs == []
    assert not is_logged_in(client)


def test_probing_names_by_registration_is_limited(alice: User) -> None:
    with patch.object(entry, "MAX_REFUSALS", 3):
        answers = [register(Client(), name) for name in ("alice", "ALICE", "-", "Alice", "bob")]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 3600
    assert "Try again in 60 minutes." in answers[-1].content.decode()
    assert not User.objects.filter(username="bob").exists()


def test_the_refused_form_keeps_name_and_address(alice: User) -> None:
    with patch.object(entry, "MAX_REFUSALS", 1):
        register(Client(), "alice")
        page = register(Client(), "bob", email="bob@example.org").content.decode()
    assert 'value="bob"' in page
    assert 'value="bob@example.org"' in page
    assert PASSWORD not in page


def test_a_class_can_register_from_one_address(alice: User) -> None:
    with patch.object(entry, "MAX_REFUSALS", 2):
        for n in range(6):
            assert register(Client(), f"pupil {n}").status_code == 302
        register(Client(), "alice")
        assert register(Client(), "late pupil").status_code == 302


def test_a_loss_of_redis_keeps_the_limit_on_registrations(alice: User, redis: Redis) -> None:
    with patch.object(entry, "MAX_REGISTRATIONS", 2):
        assert [register(Client(), f"pupil {n}").status_code for n in range(2)] == [302] * 2
        redis.flushall()
        assert register(Client(), "late pupil").status_code == 429


def test_a_loss_of_redis_keeps_the_limit_on_refused_names(alice: User, redis: Redis) -> None:
    with patch.object(entry, "MAX_REFUSALS", 2):
        assert [register(Client(), "alice").status_code for _ in range(2)] == [200] * 2
        redis.flushall()
        assert register(Client(), "bob").status_code == 429


def test_a_loss_of_redis_keeps_the_limit_per_email_address(alice: User, redis: Redis) -> None:
    with patch.object(entry, "MAX_EMAIL_REGISTRATIONS", 1):
        assert register(Client(), "bob", email="bob@example.org").status_code == 302
        redis.flushall()
        assert register(Client(), "eve", email="Bob@example.org").status_code == 429


def test_registrations_from_one_address_are_limited(alice: User) -> None:
    with patch.object(entry, "MAX_REGISTRATIONS", 3):
        assert [register(Client(), f"pupil {n}").status_code for n in range(5)] == [302] * 3 + [429] * 2


@pytest.mark.usefixtures("redis_server")
def test_registration_is_limited_while_redis_is_away(alice: User, redis_server: RedisServer) -> None:
    redis_server.kill()
    with patch.object(entry, "MAX_REFUSALS", 3):
        assert register(Client(), "bob").status_code == 302
        assert [register(Client(), "alice").status_code for _ in range(4)] == [200] * 3 + [429]
