"""Becoming somebody."""

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from accounts import registration
from accounts.forms import RegisterForm
from accounts.models import EmailChange, LoginStats, User

PASSWORD = "a quiet bookshop"
PATH = "/accounts/register/"

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]


def fields(name: str = "alice", password: str = PASSWORD, again: str | None = None) -> dict[str, str]:
    return {"username": name, "password1": password, "password2": password if again is None else again}


def test_it_works(client: Client) -> None:
    response = client.post(PATH, fields())
    assert response.headers["Location"] == "/"
    alice = User.objects.get(username="alice")
    assert alice.user_type == User.Type.CLIENT
    assert (alice.is_staff, alice.is_superuser) == (False, False)
    assert client.session["_auth_user_id"] == str(alice.pk)
    assert "Welcome, alice." in client.get("/").content.decode()


@pytest.mark.parametrize("name", ["ken thompson", "Ann-Marie", "o'brien", "读者", "x_1", "a.b"])
def test_names_of_any_script_are_names(client: Client, name: str) -> None:
    client.post(PATH, fields(name))
    assert User.objects.filter(username=name).exists()


@pytest.mark.parametrize("name", ["two  blanks", "-alice", "a/b", "<script>", "a@b.c", "alice.", "x" * 61, ""])
def test_what_is_no_name_is_refused_beside_its_field(client: Client, name: str) -> None:
    response = client.post(PATH, fields(name))
    assert response.status_code == 200
    assert 'id="id_username-errors"' in response.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["alice", "ALICE", "Alice"])
def test_a_name_is_taken_in_any_case(client: Client, name: str) -> None:
    User.objects.create_user("Alice")
    page = client.post(PATH, fields(name)).content.decode()
    assert page.count("This name cannot be had. Choose another one.") == 1
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
        ("unix.daemon77", False),  # the local part of the address, which Django compares with the domain only
        ("unix.daemon rides a bicycle", True),
    ],
)
def test_a_password_is_long_not_common_and_not_a_name(password: str, is_good: bool) -> None:
    user = User(username="Ken Thompson", email="unix.daemon@a-long-domain.example.org")
    if is_good:
        validate_password(password, user)
    else:
        with pytest.raises(ValidationError):
            validate_password(password, user)


def test_the_password_is_typed_twice_alike(client: Client) -> None:
    client.post(PATH, fields(again=PASSWORD + "!"))
    assert not User.objects.exists()


def test_the_page_that_was_wanted_comes_next(client: Client) -> None:
    response = client.post(PATH, fields() | {"next": "/books/?q=ruby"})
    assert response.headers["Location"] == "/books/?q=ruby"


def test_the_wanted_page_survives_a_mistake(client: Client) -> None:
    page = client.post(PATH, fields(name="-") | {"next": "/books/"}).content.decode()
    assert '<input type="hidden" name="next" value="/books/">' in page


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_nobody_is_sent_to_another_site(client: Client, elsewhere: str) -> None:
    assert client.post(PATH, fields() | {"next": elsewhere}).headers["Location"] == "/"


def test_more_than_the_form_asks_cannot_be_claimed(client: Client) -> None:
    client.post(PATH, fields() | {"is_staff": "on", "is_superuser": "on", "user_type": "office"})
    alice = User.objects.get(username="alice")
    assert (alice.is_staff, alice.is_superuser, alice.user_type) == (False, False, "client")


def test_who_is_signed_in_has_registered_already(client: Client) -> None:
    client.force_login(User.objects.create_user("alice"))
    assert client.get(PATH).headers["Location"] == "/"
    assert client.post(PATH, fields("bob")).status_code == 302
    assert not User.objects.filter(username="bob").exists()


def test_an_address_may_be_given_for_a_forgotten_password(client: Client) -> None:
    client.post(PATH, fields() | {"email": "Alice@Example.ORG"})
    assert EmailChange.objects.get().email == "Alice@example.org"
    assert User.objects.get().email == ""


@pytest.mark.parametrize("email", ["x", "x@y", "a@b.c\nBcc: d@e.f", "x" * 300 + "@example.org", "a\0@example.org"])
def test_what_is_no_address_is_refused(client: Client, email: str) -> None:
    response = client.post(PATH, fields() | {"email": email})
    assert response.context["form"].errors["email"]
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["admin", "Root", "STAFF", "me", "ad-min", "ａｄｍｉｎ", "r.o.o.t"])
def test_names_that_speak_for_the_site_are_nobodys(client: Client, name: str) -> None:
    assert "This name cannot be had. Choose another one." in client.post(PATH, fields(name)).content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["administer", "meg", "admins club", "rooted"])
def test_names_that_only_begin_so_may_be_had(client: Client, name: str) -> None:
    client.post(PATH, fields(name))
    assert User.objects.filter(username=name).exists()


def test_registering_is_a_login(client: Client) -> None:
    client.post(PATH, fields())
    assert LoginStats.objects.get().login_times == 1
    assert client.cookies["device"]["path"] == "/accounts/login/"


def test_fields_say_what_they_are_for(client: Client) -> None:
    page = client.get(PATH).content.decode()
    assert page.count('autocomplete="new-password"') == 2
    assert 'autocomplete="email"' in page
    assert "there is no other way back" in page


def test_a_form_without_token_registers_nobody() -> None:
    assert Client(enforce_csrf_checks=True).post(PATH, fields()).status_code == 403
    assert not User.objects.exists()


def test_somebody_else_may_take_the_name_between_check_and_write(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(form: RegisterForm) -> bool:
        valid = bool(super(RegisterForm, form).is_valid())
        User.objects.create_user("Alice")
        return valid

    monkeypatch.setattr(RegisterForm, "is_valid", late)
    response = client.post(PATH, fields())
    assert response.status_code == 200
    assert "This name cannot be had. Choose another one." in response.content.decode()
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "password", "field"),
    [("a  b", PASSWORD, "username"), ("alice", "short", "password"), ("ALICE", PASSWORD, "username")],
)
def test_the_service_says_which_field_is_wrong(name: str, password: str, field: str) -> None:
    User.objects.create_user("Alice")
    with pytest.raises(ValidationError) as caught:
        registration.register(name, password)
    assert list(caught.value.message_dict) == [field]
