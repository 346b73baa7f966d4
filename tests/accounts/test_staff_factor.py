"""Staff need a second factor, and the admin requires a recent proof of identity."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.audit.models import AuditEvent
from accounts.models import User
from accounts.second_factor import app_codes, recovery, vault
from accounts.second_factor.app_codes import CodeUse
from accounts.second_factor.models import AuthenticatorApp, RecoveryCode
from config.roles import make_roles
from tests.support.accounts.factors import add_app, present_code
from tests.support.accounts.lockout import PASSWORD, is_logged_in, log_in
from tests.support.accounts.mail import deliver_emails
from tests.support.mirror.command import run

ADMIN = "/admin/accounts/user/"
APP, CONFIRM, REMOVE = "/accounts/factors/app/", "/accounts/confirm/", "/accounts/factors/remove/"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = True


@pytest.fixture
def staff() -> User:
    return User.objects.create_superuser("staff", email="staff@example.org", password=PASSWORD)


def add_first_app(client: Client) -> Any:
    """Add an app on its page and return the response."""
    client.get(APP)
    return client.post(APP, {"code": present_code(pending_secret(client))})


def pending_secret(client: Client) -> bytes:
    """Return the secret of the app that is being added."""
    secret = vault.decrypt(client.session["_app_secret"])
    assert secret
    return secret


def test_staff_without_a_factor_must_add_one_to_log_in(client: Client, staff: User) -> None:
    given = {"username": "staff", "password": PASSWORD, "next": ADMIN}
    response = client.post("/accounts/login/", given, follow=True)
    assert response.redirect_chain[-1][0] == "/accounts/factors/"
    assert "Staff accounts need two-step login" in response.content.decode()
    assert not is_logged_in(client)
    assert client.get(ADMIN).status_code == 302
    client.get(APP)
    wrong = client.post(APP, {"code": "000000"})
    assert 'id="id_code-errors"' in wrong.content.decode()
    assert not is_logged_in(client)
    page = add_first_app(client)
    assert len(page.context["codes"]) == 10
    assert f'href="{ADMIN}"' in page.content.decode()
    assert client.get(ADMIN).status_code == 200
    assert AuditEvent.objects.filter(kind="factor", details="An authenticator app was added.", actor=staff).exists()
    assert [letter.subject for letter in deliver_emails()] == [
        "Your Diptych two-step login was changed",
        "New login to your Diptych account",
    ]


def test_the_secret_stays_the_same_until_the_app_is_added(client: Client, staff: User) -> None:
    log_in(client, "staff")
    shown = [client.get(APP).context["secret"] for _ in range(2)]
    shown.append(client.post(APP, {"code": "000000"}).context["secret"])
    assert len(set(shown)) == 1


def test_the_password_alone_cannot_add_another_factor(client: Client, staff: User) -> None:
    add_app(staff)
    log_in(client, "staff")
    for path in ("/accounts/factors/", APP, "/accounts/factors/passkey/", "/accounts/factors/codes/", REMOVE):
        assert client.post(path, {"app": "1"}).headers["Location"].startswith("/accounts/login/")
    assert AuthenticatorApp.objects.count() == 1


def test_a_session_of_staff_without_a_factor_is_anonymous(client: Client, settings: Settings) -> None:
    alice = User.objects.create_user("alice")
    client.force_login(alice)
    assert client.get("/accounts/").status_code == 200
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    assert client.get("/accounts/").status_code == 302
    settings.SECOND_FACTOR_FOR_STAFF = False
    assert client.get("/accounts/").status_code == 200


def test_readers_need_no_second_factor(client: Client) -> None:
    User.objects.create_user("alice", password=PASSWORD)
    log_in(client, "alice")
    assert is_logged_in(client)


def logged_in(user: User) -> Client:
    """Return a browser with a session of the user that began with password and second factor."""
    client, secret = Client(), add_app(user)
    log_in(client, user.username)
    assert client.post("/accounts/login/factor/", {"code": present_code(secret)}).status_code == 302
    return client


@pytest.mark.parametrize("proof", ["password", "code"])
def test_the_admin_requires_a_recent_proof(staff: User, settings: Settings, proof: str) -> None:
    client = logged_in(staff)
    page = f"{ADMIN}?q=a"
    assert client.get(page).status_code == 200
    settings.RECENT_LOGIN_SECONDS = 0
    asked = client.get(page, follow=True)
    assert asked.redirect_chain[-1][0].startswith(CONFIRM)
    assert client.post(ADMIN, {"action": "end_sessions"}).status_code == 302
    settings.RECENT_LOGIN_SECONDS = 1800
    session = client.session
    session["_authenticated_at"] -= 2 * settings.RECENT_LOGIN_SECONDS + 1
    session.save()
    token = client.session.session_key
    code = recovery.renew_codes(staff.pk)[0]
    given = {"password": PASSWORD} if proof == "password" else {"code": code}
    assert client.post(CONFIRM, {"password": "wrong", "next": page}).status_code == 200
    assert client.get(page).status_code == 302
    assert client.post(CONFIRM, given | {"next": page}).headers["Location"] == page
    assert client.get(page).status_code == 200
    assert client.session.session_key != token


def test_a_form_of_the_admin_may_be_sent_for_twice_the_time(staff: User, settings: Settings) -> None:
    client = logged_in(staff)
    session = client.session
    session["_authenticated_at"] -= settings.RECENT_LOGIN_SECONDS + 5
    session.save()
    assert client.get(ADMIN).status_code == 302
    assert client.post(ADMIN, {"action": ""}).headers.get("Location", "").startswith("/admin/login") is False


def test_the_confirm_page_never_redirects_to_another_site(staff: User) -> None:
    client = logged_in(staff)
    response = client.post(CONFIRM, {"password": PASSWORD, "next": "https://evil.example/"})
    assert response.headers["Location"] == "/accounts/"


def test_attempts_on_the_confirm_page_are_limited(staff: User) -> None:
    client = logged_in(staff)
    assert [client.post(CONFIRM, {"password": "wrong"}).status_code for _ in range(11)] == [200] * 10 + [429]
    assert [client.post(CONFIRM, {"code": "000000"}).status_code for _ in range(6)] == [200] * 5 + [429]


def test_factors_can_be_changed_only_with_a_recent_proof(staff: User, settings: Settings) -> None:
    client = logged_in(staff)
    settings.RECENT_LOGIN_SECONDS = 0
    for path in ("/accounts/factors/", APP, "/accounts/factors/passkey/", "/accounts/factors/codes/", REMOVE):
        assert client.post(path, {"app": "1"}).headers["Location"].startswith(CONFIRM)
    assert AuthenticatorApp.objects.exists()


def test_staff_cannot_remove_their_last_factor(staff: User, settings: Settings) -> None:
    client = logged_in(staff)
    client.post(REMOVE, {"app": "1"})
    assert AuthenticatorApp.objects.exists()
    settings.SECOND_FACTOR_FOR_STAFF = False
    recovery.renew_codes(staff.pk)
    client.post(REMOVE, {"app": "1"})
    assert not AuthenticatorApp.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert client.get("/accounts/").status_code == 200
    settings.SECOND_FACTOR_FOR_STAFF = True
    assert client.get("/accounts/").status_code == 302  # the session has lost its proof


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 30, "\u0663"])
def test_an_invalid_passkey_id_removes_nothing(staff: User, number: str) -> None:
    client = logged_in(staff)
    assert client.post(REMOVE, {"passkey": number}).headers["Location"] == "/accounts/factors/"
    assert AuthenticatorApp.objects.exists()


def test_factors_of_other_users_stay(staff: User) -> None:
    alice = User.objects.create_user("alice", password=PASSWORD)
    secret = add_app(alice)
    client = logged_in(staff)
    client.post(REMOVE, {"app": "1"})
    assert app_codes.use_code(alice.pk, present_code(secret)) is CodeUse.RIGHT


def test_new_recovery_codes_replace_the_old_ones(staff: User) -> None:
    client = logged_in(staff)
    (old, *_rest) = recovery.renew_codes(staff.pk)
    codes = client.post("/accounts/factors/codes/").context["codes"]
    assert len(codes) == 10
    assert not recovery.use_code(staff.pk, old)
    assert codes[0] not in client.get("/accounts/factors/").content.decode()


def test_a_superuser_can_remove_lost_factors(staff: User) -> None:
    lost = User.objects.create_user("lost", email="lost@example.org", password=PASSWORD, is_staff=True)
    there = logged_in(lost)
    client = logged_in(staff)
    deliver_emails()
    given = {"action": "remove_factors", "_selected_action": [lost.pk]}
    assert client.post(ADMIN, given).status_code == 302
    assert not AuthenticatorApp.objects.filter(pk=lost.pk).exists()
    assert there.get("/accounts/").status_code == 302
    (letter,) = deliver_emails()
    assert "Two-step login was turned off by staff." in str(letter.body)
    event = AuditEvent.objects.get(kind="factor", details="Two-step login was turned off by staff.")
    assert (event.actor, event.object) == (staff, "lost")


def test_other_staff_cannot_remove_factors(staff: User) -> None:
    support = User.objects.create_user("support", password=PASSWORD, is_staff=True)
    make_roles(Group, Permission, ["support"])
    support.groups.add(Group.objects.get(name="support"))
    alice = User.objects.create_user("alice")
    add_app(alice)
    client = logged_in(support)
    client.post(ADMIN, {"action": "remove_factors", "_selected_action": [alice.pk]})
    assert AuthenticatorApp.objects.filter(pk=alice.pk).exists()


def test_the_command_removes_the_factors_of_the_only_superuser(staff: User) -> None:
    add_app(staff)
    call_command("accounts", "remove-factors", "STAFF")
    assert not AuthenticatorApp.objects.exists()
    assert run("remove-factors", "nobody", name="accounts").code == 2
