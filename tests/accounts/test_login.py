"""Login and logout."""

import re

import pytest
from django.test import Client

from accounts.models import LoginStats, User

PASSWORD = "a quiet bookshop"
LOGIN, LOGOUT = "/accounts/login/", "/accounts/logout/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


def answer(client: Client, name: str, password: str) -> str:
    """Return the errors on the page after a failed login."""
    response = client.post(LOGIN, {"username": name, "password": password})
    assert response.status_code == 200
    form = response.context["form"]
    return "|".join(str(error) for error in form.non_field_errors())


def test_a_right_password_logs_in(client: Client, alice: User) -> None:
    response = client.post(LOGIN, {"username": "alice", "password": PASSWORD})
    assert response.headers["Location"] == "/"
    assert client.session["_auth_user_id"] == str(alice.pk)


@pytest.mark.parametrize("name", ["Alice", "ALICE", "aLiCe", "ＡＬＩＣＥ", " alice "])
def test_the_name_may_be_written_in_any_case(client: Client, alice: User, name: str) -> None:
    client.post(LOGIN, {"username": name, "password": PASSWORD})
    assert client.session["_auth_user_id"] == str(alice.pk)


def test_a_login_is_counted_once(client: Client, alice: User) -> None:
    client.post(LOGIN, {"username": "alice", "password": PASSWORD})
    assert LoginStats.objects.get(user=alice).login_times == 1


def test_passwords_are_hashed_as_owasp_recommends(dear_hashes: None) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD)
    assert bob.password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")


def test_the_device_cookie_is_sent_only_to_the_login_page(client: Client, alice: User) -> None:
    cookie = client.post(LOGIN, {"username": "alice", "password": PASSWORD}).cookies["device"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (LOGIN, True, "Lax")
    assert "alice" not in cookie.value


def test_the_first_field_with_an_error_has_the_focus(client: Client, alice: User) -> None:
    def focused(**given: str) -> list[str]:
        page = client.post(LOGIN, given).content.decode()
        return re.findall(r'<input[^>]* name="(\w+)"[^>]* autofocus', page)

    assert focused(username="", password="x") == ["username"]
    assert focused(username="alice", password="") == ["password"]
    assert focused(username="alice", password="wrong") == ["username"]


def test_fields_have_autocomplete_attributes(client: Client) -> None:
    page = client.get(LOGIN).content.decode()
    assert 'autocomplete="username"' in page
    assert 'autocomplete="current-password"' in page
    assert 'autocapitalize="none"' in page


def test_the_error_does_not_reveal_existing_names(client: Client, alice: User) -> None:
    User.objects.create_user("bob", password=PASSWORD, is_active=False)
    wrong = answer(client, "alice", "wrong")
    assert wrong
    assert answer(client, "nobody", "wrong") == wrong
    assert answer(client, "bob", PASSWORD) == wrong


def test_the_error_is_announced_to_screen_readers(client: Client, alice: User) -> None:
    page = client.post(LOGIN, {"username": "alice", "password": "mistaken"}).content.decode()
    assert 'role="alert"' in page
    assert "mistaken" not in page


def test_login_redirects_to_next(client: Client, alice: User) -> None:
    page = client.get(LOGIN, {"next": "/books/?q=ruby"}).content.decode()
    assert '<input type="hidden" name="next" value="/books/?q=ruby">' in page
    asked = {"username": "alice", "password": PASSWORD, "next": "/books/?q=ruby"}
    assert client.post(LOGIN, asked).headers["Location"] == "/books/?q=ruby"


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_next_never_redirects_to_another_site(client: Client, alice: User, elsewhere: str) -> None:
    asked = {"username": "alice", "password": PASSWORD, "next": elsewhere}
    assert client.post(LOGIN, asked).headers["Location"] == "/"


def test_login_starts_a_new_session(client: Client, alice: User) -> None:
    client.get("/")
    session = client.session
    session["planted"] = "1"
    session.save()
    client.cookies["sessionid"] = before = session.session_key or ""
    client.post(LOGIN, {"username": "alice", "password": PASSWORD})
    assert client.session.session_key != before


def test_a_logged_in_user_is_redirected(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get(LOGIN).headers["Location"] == "/"


def test_logout_requires_post(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get(LOGOUT).status_code == 405
    assert "_auth_user_id" in client.session
    response = client.post(LOGOUT)
    assert response.headers["Location"] == "/"
    assert "_auth_user_id" not in client.session
    assert "You are logged out." in client.get("/").content.decode()


def test_another_site_cannot_log_users_out(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(LOGOUT).status_code == 403
    assert "_auth_user_id" in client.session
