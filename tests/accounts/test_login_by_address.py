"""Login by a verified email address instead of the name."""

from typing import Any

import pytest
from django.test import Client

from accounts.lockout.models import FailedLogins
from accounts.models import EmailChange, User
from accounts.personal.parts import _erase_failed_logins
from mirror.redis.recorder import record
from tests.support.accounts.lockout import ELSEWHERE, LOGIN, PASSWORD, fail_logins, is_logged_in, log_in, record_hashing

ADDRESS = "Mike@Example.org"

pytestmark = pytest.mark.django_db


@pytest.fixture
def mike() -> User:
    return User.objects.create_user("mike", password=PASSWORD, email=ADDRESS)


def can_log_in(typed: str) -> bool:
    client = Client()
    log_in(client, typed)
    return is_logged_in(client)


def test_a_verified_address_of_one_account_logs_in(mike: User) -> None:
    other = User.objects.create_user("carol", password=PASSWORD)
    EmailChange.objects.create(user=other, email="carol@example.org")
    User.objects.create_user("inactive", password=PASSWORD, email="gone@example.org", is_active=False)
    cases = {
        "mike": True,
        " mike@example.ORG ": True,
        "mıke@example.org": False,  # another mailbox, which an upper case of SQL equates
        "ｍike＠example.org": True,  # typed with an input method
        "carol@example.org": False,  # not verified
        "gone@example.org": False,
        "@": False,
        "%@example.org": False,
    }
    assert {typed: can_log_in(typed) for typed in cases} == cases
    User.objects.create_user("second", password=PASSWORD, email="mike@example.org")
    assert not can_log_in(ADDRESS), "which of two accounts is meant, cannot be known"
    assert can_log_in("mike")


def test_known_and_unknown_addresses_give_the_same_response_and_work(mike: User) -> None:
    def send(typed: str) -> tuple[Any, ...]:
        client = Client()
        with record_hashing() as runs, record() as seen:
            response = log_in(client, typed, "wrong", ELSEWHERE)
        body = response.content.decode().replace(typed, "")
        return (
            response.status_code,
            body.count("The name or the password is wrong"),
            len(runs),
            len(seen.sql),
            len(seen.commands),
        )

    send("warm up")
    assert [send(ADDRESS), send("nobody@example.org")] == [send("mike")] * 2


def test_an_address_is_locked_out_on_its_own_and_a_login_resets_it(mike: User) -> None:
    assert fail_logins("mike") == [200] * 5
    assert log_in(Client(), "mike").status_code == 429
    assert log_in(Client(), ADDRESS, "wrong").status_code == 200, (
        "otherwise a lock-out shows to whom an address belongs"
    )
    assert can_log_in(ADDRESS)
    assert not FailedLogins.objects.filter(kind="pair", name="mike@example.org").exists()
    fail_logins(ADDRESS)
    assert log_in(Client(), ADDRESS).status_code == 429
    _erase_failed_logins(mike.pk)
    assert not FailedLogins.objects.filter(name__in=["mike", "mike@example.org"]).exists()


def test_a_known_device_is_known_by_name_and_by_address(mike: User) -> None:
    client = Client()
    log_in(client, "mike")
    client.post("/accounts/logout/")
    fail_logins(ADDRESS)
    assert log_in(client, ADDRESS).status_code == 302, "strangers cannot lock out the owner"
    assert is_logged_in(client)
    assert 'maxlength="254"' in Client().get(LOGIN).content.decode()
