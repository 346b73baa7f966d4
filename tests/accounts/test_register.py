"""Registration."""

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from accounts.forms.entry import RegisterForm
from accounts.models import EmailChange, LoginStats, User
from accounts.users import registration

PASSWORD = "a quiet bookshop"
PATH = "/accounts/register/"

pytestmark = pytest.mark.django_db


def fields(name: str = "alice", password: str = PASSWORD, again: str | None = None) -> dict[str, str]:
    return {"username": name, "password1": password, "password2": password if again is None else again}


def test_registration_creates_a_user_and_logs_in(client: Client) -> None:
    response = client.post(PATH, fields())
    assert response.headers["Location"] == "/welcome/"
    alice = User.objects.get(username="alice")
    assert alice.user_type == User.Type.CLIENT
    assert (alice.is_staff, alice.is_superuser) == (False, False)
    assert client.session["_auth_user_id"] == str(alice.pk)
    assert "Welcome, alice." in client.get("/").content.decode()


@pytest.mark.parametrize("name", ["ken thompson", "Ann-Marie", "o'brien", "读者", "x_1", "a.b"])
def test_names_of_any_script_are_accepted(client: Client, name: str) -> None:
    client.post(PATH, fields(name))
    assert User.objects.filter(username=name).exists()


@pytest.mark.parametrize("name", ["two  blanks", "-alice", "a/b", "<script>", "a@b.c", "alice.", "x" * 61, ""])
def test_an_invalid_name_is_a_field_error(client: Client, name: str) -> None:
    response = client.post(PATH, fields(name))
    assert response.status_code == 200
    assert 'id="id_username-errors"' in response.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["alice", "ALICE", "Alice"])
def test_a_name_is_taken_in_any_case(client: Client, name: str) -> None:
    User.objects.create_user("Alice")
    page = client.post(PATH, fields(name)).content.decode()
    assert page.count("That name is already taken.") == 1
    assert 'aria-describedby="id_username-errors' in page
    assert User.objects.count() == 1


@pytest.mark.parametrize("password", ["short", "12345678901", "password", "alice-alice"])
def test_weak_passwords_are_refused(client: Client, password: str) -> None:
    response = client.post(PATH, fields("alice-alice", password))
    assert "errors" in response.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("password", "is_good"),
    [
        ("nine char", False),
        ("ten chars!", True),
        ("Password123", False),  # common
        ("8675309867", False),  # digits alone
        ("ken.thompson-1970", False),
        ("ＫＥＮ ＴＨＯＭＰＳＯＮ 1970", False),
        ("unix.daemon77", False),  # the local part of the address, which Django compares only together with the domain
        ("unix.daemon rides a bicycle", True),
    ],
)
def test_passwords_must_be_long_uncommon_and_unlike_the_name(password: str, is_good: bool) -> None:
    user = User(username="Ken Thompson", email="unix.daemon@a-long-domain.example.org")
    if is_good:
        validate_password(password, user)
    else:
        with pytest.raises(ValidationError):
            validate_password(password, user)


def test_the_two_passwords_must_agree(client: Client) -> None:
    client.post(PATH, fields(again=PASSWORD + "!"))
    assert not User.objects.exists()


def test_registration_redirects_to_next(client: Client) -> None:
    response = client.post(PATH, fields() | {"next": "/books/?q=ruby"})
    assert response.headers["Location"] == "/books/?q=ruby"


def test_next_survives_an_invalid_form(client: Client) -> None:
    page = client.post(PATH, fields(name="-") | {"next": "/books/"}).content.decode()
    assert '<input type="hidden" name="next" value="/books/">' in page


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_next_never_redirects_to_another_site(client: Client, elsewhere: str) -> None:
    assert client.post(PATH, fields() | {"next": elsewhere}).headers["Location"] == "/welcome/"


def test_extra_fields_are_ignored(client: Client) -> None:
    client.post(PATH, fields() | {"is_staff": "on", "is_superuser": "on", "user_type": "office"})
    alice = User.objects.get(username="alice")
    assert (alice.is_staff, alice.is_superuser, alice.user_type) == (False, False, "client")


def test_a_logged_in_user_cannot_register(client: Client) -> None:
    client.force_login(User.objects.create_user("alice"))
    assert client.get(PATH).headers["Location"] == "/"
    assert client.post(PATH, fields("bob")).status_code == 302
    assert not User.objects.filter(username="bob").exists()


def test_an_optional_address_waits_for_verification(client: Client) -> None:
    client.post(PATH, fields() | {"email": "Alice@Example.ORG"})
    assert EmailChange.objects.get().email == "Alice@example.org"
    assert User.objects.get().email == ""


@pytest.mark.parametrize("email", ["x", "x@y", "a@b.c\nBcc: d@e.f", "x" * 300 + "@example.org", "a\0@example.org"])
def test_invalid_addresses_are_refused(client: Client, email: str) -> None:
    response = client.post(PATH, fields() | {"email": email})
    assert response.context["form"].errors["email"]
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["admin", "Root", "STAFF", "me", "ad-min", "ａｄｍｉｎ", "r.o.o.t"])
def test_reserved_names_are_refused(client: Client, name: str) -> None:
    assert "That name is already taken." in client.post(PATH, fields(name)).content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["administer", "meg", "admins club", "rooted"])
def test_names_that_only_start_like_reserved_ones_are_accepted(client: Client, name: str) -> None:
    client.post(PATH, fields(name))
    assert User.objects.filter(username=name).exists()


def test_registration_counts_as_a_login(client: Client) -> None:
    client.post(PATH, fields())
    assert LoginStats.objects.get().login_times == 1
    assert client.cookies["device"]["path"] == "/accounts/login/"


def test_fields_have_autocomplete_attributes(client: Client) -> None:
    page = client.get(PATH).content.decode()
    assert page.count('autocomplete="new-password"') == 2
    assert 'autocomplete="email"' in page
    assert "Used to reset your password" in page


def test_a_form_without_csrf_token_is_refused() -> None:
    assert Client(enforce_csrf_checks=True).post(PATH, fields()).status_code == 403
    assert not User.objects.exists()


def test_a_name_taken_concurrently_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(form: RegisterForm) -> bool:
        valid = bool(super(RegisterForm, form).is_valid())
        User.objects.create_user("Alice")
        return valid

    monkeypatch.setattr(RegisterForm, "is_valid", late)
    response = client.post(PATH, fields())
    assert response.status_code == 200
    assert "That name is already taken." in response.content.decode()
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "password", "field"),
    [("a  b", PASSWORD, "username"), ("alice", "short", "password"), ("ALICE", PASSWORD, "username")],
)
def test_the_service_names_the_invalid_field(name: str, password: str, field: str) -> None:
    User.objects.create_user("Alice")
    with pytest.raises(ValidationError) as caught:
        registration.register_user(name, password)
    assert list(caught.value.message_dict) == [field]
