"""A password change requires the current password, ends all other sessions, and notifies the owner."""

from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import EmailChange, Session, User
from accounts.passwords import services as passwords
from tests.support.accounts.mail import deliver_emails
from tests.support.servers import RedisServer

PATH = "/accounts/password_change/"
PASSWORD, NEW = "a quiet bookshop", "an even quieter one"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org", password=PASSWORD)


@pytest.fixture
def here(alice: User) -> Client:
    return logged_in(alice)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def change(client: Client, old: str = PASSWORD, new: str = NEW) -> Any:
    return client.post(PATH, {"old_password": old, "new_password1": new, "new_password2": new})


def test_the_password_is_changed(here: Client, alice: User) -> None:
    response = change(here)
    assert response.headers["Location"] == "/accounts/"
    page = here.get("/accounts/").content.decode()
    assert "You stay logged in here, and are logged out everywhere else." in page
    alice.refresh_from_db()
    assert alice.check_password(NEW)


def test_other_sessions_end_and_this_one_gets_a_new_token(here: Client, alice: User) -> None:
    elsewhere, token = logged_in(alice), here.cookies["sessionid"].value
    change(here)
    assert Session.objects.filter(user=alice).count() == 1
    assert elsewhere.get("/accounts/").status_code == 302
    assert here.get("/accounts/").status_code == 200
    assert here.cookies["sessionid"].value != token
    stale = Client()
    stale.cookies["sessionid"] = token
    assert stale.get("/accounts/").status_code == 302


def test_sessions_of_other_users_continue(here: Client) -> None:
    other = logged_in(User.objects.create_user("bob"))
    change(here)
    assert other.get("/accounts/").status_code == 200


def test_the_owner_gets_an_email(here: Client, settings: Settings) -> None:
    change(here)
    (letter,) = deliver_emails()
    assert letter.to == ["alice@example.org"]
    assert letter.subject == "Your Diptych password was changed"
    assert f"{settings.SITE_URL}/accounts/password_reset/" in str(letter.body)


def test_a_user_without_an_address_gets_no_email(alice: User, here: Client) -> None:
    User.objects.filter(pk=alice.pk).update(email="")
    assert change(here).status_code == 302
    assert deliver_emails() == []


@pytest.mark.parametrize(
    ("old", "new", "field"), [("wrong", NEW, "old_password"), (PASSWORD, "12345678", "new_password2")]
)
def test_invalid_input_is_a_field_error_and_changes_nothing(
    here: Client, alice: User, old: str, new: str, field: str
) -> None:
    elsewhere = logged_in(alice)
    page = change(here, old, new).content.decode()
    assert f'id="id_{field}-errors"' in page
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)
    assert elsewhere.get("/accounts/").status_code == 200
    assert deliver_emails() == []


def test_password_attempts_are_limited(here: Client, alice: User) -> None:
    for _ in range(10):
        assert change(here, "wrong").status_code == 200
    response = change(here)
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    assert "errors" not in response.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_a_concurrent_change_is_not_overwritten(here: Client, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    hashing = make_password

    def late(password: str) -> str:
        alice.set_password("somebody was faster")
        alice.save()
        return hashing(password)

    monkeypatch.setattr(passwords, "make_password", late)
    assert "in another window" in change(here).content.decode()
    alice.refresh_from_db()
    assert alice.check_password("somebody was faster")


def test_a_new_password_cancels_a_change_of_address(here: Client, alice: User) -> None:
    EmailChange.objects.create(user=alice, email="eve@example.org")
    change(here)
    assert not EmailChange.objects.exists()


def test_only_the_password_column_is_written(here: Client, alice: User) -> None:
    here.get("/accounts/")
    User.objects.filter(pk=alice.pk).update(email="new@example.org", is_staff=True)
    change(here)
    alice.refresh_from_db()
    assert (alice.email, alice.is_staff) == ("new@example.org", True)


def test_anonymous_visitors_are_redirected_to_login() -> None:
    response = Client().get(PATH)
    assert response.headers["Location"] == f"/accounts/login/?next={PATH}"


def test_a_form_without_csrf_token_is_refused(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert change(client).status_code == 403


def test_the_change_works_without_redis(alice: User, redis_server: RedisServer) -> None:
    here, elsewhere = logged_in(alice), logged_in(alice)
    redis_server.kill()
    assert change(here).status_code == 302
    assert here.get("/accounts/").status_code == 200
    assert elsewhere.get("/accounts/").status_code == 302
