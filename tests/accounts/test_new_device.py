"""A login with a new device is reported by email. A device is known until the password changes."""

import pytest
from django.test import Client

from accounts.models import User
from accounts.passwords import services as passwords
from tests.support.accounts.factors import add_app, present_code
from tests.support.accounts.lockout import HOME, PASSWORD, fail_logins, log_in
from tests.support.accounts.mail import deliver_emails

NEW = "an entirely new one"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org", password=PASSWORD)


def test_a_new_device_is_reported_once(client: Client, alice: User) -> None:
    given = {"username": "alice", "password": PASSWORD}
    client.post("/accounts/login/", given, REMOTE_ADDR=HOME, HTTP_USER_AGENT=FIREFOX)
    (letter,) = deliver_emails()
    assert letter.to == ["alice@example.org"]
    assert f"Firefox on Linux, from {HOME}." in str(letter.body)
    client.post("/accounts/logout/")
    log_in(client, "alice")
    assert deliver_emails() == []
    log_in(Client(), "alice")
    assert len(deliver_emails()) == 1


def test_a_new_device_is_reported_after_the_second_factor(client: Client, alice: User) -> None:
    secret = add_app(alice)
    log_in(client, "alice")
    assert deliver_emails() == []
    client.post("/accounts/login/factor/", {"code": present_code(secret)})
    assert len(deliver_emails()) == 1
    assert client.cookies["device"]["path"] == "/accounts/login/"


def test_a_wrong_password_sends_no_email(alice: User) -> None:
    fail_logins("alice", 1)
    assert deliver_emails() == []


def test_registration_reports_no_new_device(client: Client) -> None:
    given = {"username": "carol", "email": "carol@example.org", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/accounts/register/", given)
    assert [letter.subject for letter in deliver_emails()] == ["Verify your email address"]
    client.post("/accounts/logout/")
    User.objects.update(email="carol@example.org")
    log_in(client, "carol")
    assert deliver_emails() == []


def test_a_device_is_known_until_the_password_changes(client: Client, alice: User) -> None:
    other = Client()
    for each in (client, other):
        log_in(each, "alice")
    given = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert client.post("/accounts/password_change/", given).status_code == 302
    for each in (client, other):
        each.post("/accounts/logout/")
    deliver_emails()
    fail_logins("alice", 5)
    assert log_in(other, "alice", NEW).status_code == 429  # like any device at this address
    assert log_in(client, "alice", NEW).status_code == 302  # the device that changed the password
    assert deliver_emails() == []


def test_a_password_reset_makes_all_devices_unknown(client: Client, alice: User) -> None:
    log_in(client, "alice")
    alice.refresh_from_db()
    assert passwords.reset_password(alice, NEW, passwords.reset_token_generator.make_token(alice))
    deliver_emails()
    log_in(client, "alice", NEW)
    assert len(deliver_emails()) == 1
