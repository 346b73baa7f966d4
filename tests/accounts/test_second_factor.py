"""The second factor of a login: no session begins without it, and each proof is valid once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.audit.models import AuditEvent
from accounts.deletion import services as deletion
from accounts.lockout.known import COOKIE_NAME, remember_device
from accounts.lockout.models import FailedLogins
from accounts.models import LoginStats, User
from accounts.second_factor import app_codes, recovery
from accounts.second_factor.app_codes import CodeUse
from accounts.second_factor.models import AuthenticatorApp, RecoveryCode
from accounts.sessions.services import end_all_sessions
from tests.support.accounts.factors import add_app, present_code
from tests.support.accounts.lockout import ELSEWHERE, HOME, PASSWORD, fail_logins, is_logged_in, log_in
from tests.support.accounts.mail import deliver_emails

FACTOR = "/accounts/login/factor/"
T = TypeVar("T")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org", password=PASSWORD)


@pytest.fixture
def secret(alice: User) -> bytes:
    """Add an authenticator app for Alice and return its secret."""
    return add_app(alice)


def give(client: Client, code: str) -> Any:
    return client.post(FACTOR, {"code": code}, REMOTE_ADDR=HOME)


def test_a_right_password_alone_begins_no_session(client: Client, secret: bytes) -> None:
    response = log_in(client, "alice", next="/home/")
    assert response.headers["Location"] == FACTOR
    assert not is_logged_in(client)
    assert client.get("/accounts/").headers["Location"].startswith("/accounts/login/")
    assert client.get("/accounts/factors/").headers["Location"].startswith("/accounts/login/")
    assert client.post("/posts/", {"text": "x"}).headers["Location"].startswith("/accounts/login/")
    assert not LoginStats.objects.exists()
    response = give(client, present_code(secret))
    assert response.headers["Location"] == "/home/"
    assert is_logged_in(client)
    assert LoginStats.objects.get().login_times == 1


def test_the_second_factor_rotates_the_token(client: Client, secret: bytes) -> None:
    log_in(client, "alice")
    before = client.session.session_key
    give(client, present_code(secret))
    assert client.session.session_key != before


def test_a_code_is_valid_once(client: Client, alice: User, secret: bytes, settings: Settings, redis: Redis) -> None:
    code = present_code(secret)
    log_in(client, "alice")
    assert give(client, code).status_code == 302
    redis.flushall()
    again = Client()
    log_in(again, "alice")
    assert "was already used" in give(again, code).content.decode()
    assert not is_logged_in(again)
    now = timezone.now() + timedelta(seconds=app_codes.STEP_SECONDS)
    settings.CLOCK = lambda: now
    assert give(again, present_code(secret)).status_code == 302


def test_the_owner_learns_of_a_repeated_code(client: Client, alice: User, secret: bytes) -> None:
    code = present_code(secret)
    log_in(client, "alice")
    give(client, code)
    deliver_emails()
    thief = Client()
    log_in(thief, "alice")
    give(thief, code)
    assert "was entered a second time, and was refused" in str(deliver_emails()[-1].body)
    assert AuditEvent.objects.filter(details__contains="was entered a second time").exists()
    give(thief, "000000" if code != "000000" else "111111")
    assert deliver_emails() == []


def test_a_code_of_another_time_is_refused(alice: User, secret: bytes) -> None:
    now = app_codes.get_current_step()
    for steps in (-3, 3):
        assert app_codes.use_code(alice.pk, app_codes.make_code(secret, now + steps)) is CodeUse.WRONG
    assert app_codes.use_code(alice.pk, app_codes.make_code(secret, now)) is CodeUse.RIGHT


def tried_at_once(use: Callable[[], T]) -> list[T]:
    def one(_: int) -> T:
        try:
            return use()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, range(8)))


def test_concurrent_uses_of_a_code_succeed_once(alice: User, secret: bytes) -> None:
    code = present_code(secret)
    uses = tried_at_once(lambda: app_codes.use_code(alice.pk, code))
    assert sorted(use.name for use in uses) == ["REPEATED"] * 7 + ["RIGHT"]
    recovery_code = recovery.renew_codes(alice.pk)[0]
    assert sum(tried_at_once(lambda: recovery.use_code(alice.pk, recovery_code))) == 1


def test_a_recovery_code_is_valid_once_and_stored_as_a_digest(client: Client, alice: User, secret: bytes) -> None:
    codes = recovery.renew_codes(alice.pk)
    stored = " ".join(RecoveryCode.objects.values_list("digest", flat=True))
    assert len(set(codes)) == 10
    assert not any(code.replace("-", "") in stored for code in codes)
    log_in(client, "alice")
    assert give(client, codes[0].upper().replace("-", " ")).status_code == 302
    assert "A recovery code was used." in str([letter.body for letter in deliver_emails()])
    again = Client()
    log_in(again, "alice")
    assert give(again, codes[0]).status_code == 200
    assert give(again, codes[1]).status_code == 302
    assert RecoveryCode.objects.count() == 8


def test_a_recovery_code_of_another_user_is_refused(client: Client, alice: User, secret: bytes) -> None:
    eve = User.objects.create_user("eve", password=PASSWORD)
    log_in(client, "alice")
    assert give(client, recovery.renew_codes(eve.pk)[0]).status_code == 200
    assert not is_logged_in(client)


def test_attempts_with_codes_are_limited(client: Client, alice: User, secret: bytes, redis: Redis) -> None:
    log_in(client, "alice")
    assert [give(client, "000000").status_code for _ in range(6)] == [200] * 5 + [429]
    redis.flushall()
    assert give(client, present_code(secret)).status_code == 429
    again = Client()
    log_in(again, "alice")
    assert give(again, present_code(secret)).status_code == 429
    assert not is_logged_in(again)
    assert AuditEvent.objects.filter(kind="factor", object="alice").count() == 5
    FailedLogins.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    assert give(again, present_code(secret)).status_code == 302


def test_a_stolen_password_does_not_lock_out_the_owner(alice: User, secret: bytes) -> None:
    codes = recovery.renew_codes(alice.pk)
    known, thief, elsewhere = Client(), Client(), Client()
    log_in(known, "alice")
    assert give(known, codes[0]).status_code == 302
    known.post("/accounts/logout/")
    log_in(thief, "alice", address=ELSEWHERE)
    assert [give(thief, "000000").status_code for _ in range(6)] == [200] * 5 + [429]
    page = give(thief, "000000")
    assert int(page["Retry-After"]) > 0
    assert "Try again in 15 minutes." in page.content.decode()
    assert "A passkey or a recovery code still works." in page.content.decode()
    # Texts that no code of an app has do not open another way to try codes.
    assert [give(thief, code).status_code for code in ("0" * 16, "000000" + "\u200b" * 10, "-".join("000000"))] == [
        200,
        429,
        429,
    ]
    log_in(known, "alice")
    assert give(known, present_code(secret)).status_code == 302
    log_in(elsewhere, "alice")
    assert give(elsewhere, codes[1]).status_code == 302
    assert is_logged_in(elsewhere)


def test_known_devices_of_a_user_have_a_common_limit(
    alice: User, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.second_factor.views.checking.MAX_DEVICE_ATTEMPTS", 7)
    given = []
    for _ in range(2):
        response, device = HttpResponse(), Client()
        remember_device(response, alice)
        device.cookies[COOKIE_NAME] = response.cookies[COOKIE_NAME].value
        log_in(device, "alice")
        given += [give(device, "000000").status_code for _ in range(4)]
    assert given == [200] * 7 + [429]


def test_right_codes_do_not_count_as_attempts(client: Client, alice: User, secret: bytes) -> None:
    for code in recovery.renew_codes(alice.pk)[:7]:
        again = Client()
        log_in(again, "alice")
        assert give(again, code).status_code == 302


def test_right_passwords_without_a_factor_cause_no_lock_out(alice: User, secret: bytes) -> None:
    for _ in range(7):
        assert log_in(Client(), "alice").status_code == 302
    assert fail_logins("alice", 1) == [200]


@pytest.mark.parametrize("what", ["password", "secret", "time", "deactivated", "nobody"])
def test_a_pending_login_ends(client: Client, alice: User, secret: bytes, what: str, settings: Settings) -> None:
    if what != "nobody":
        log_in(client, "alice")
    match what:
        case "password":
            alice.set_password("another one altogether")
            alice.save()
        case "secret":
            end_all_sessions(alice)
        case "time":
            settings.PENDING_LOGIN_SECONDS = -1
        case "deactivated":
            User.objects.filter(pk=alice.pk).update(is_active=False)
    assert give(client, present_code(secret)).headers["Location"] == "/accounts/login/"
    assert client.get(FACTOR).status_code == 302
    assert not is_logged_in(client)


def test_the_secret_is_stored_encrypted(client: Client, alice: User, secret: bytes, redis: Redis) -> None:
    client.force_login(alice)
    page = client.get("/accounts/factors/app/")
    shown = page.context["secret"].replace(" ", "")
    assert len(shown) == 32
    data = str(client.session["_app_secret"])
    assert shown not in data
    assert shown not in str(redis.get(keys.session(client.session.digest)))  # type: ignore[attr-defined]
    assert app_codes.format_secret(secret).replace(" ", "") not in AuthenticatorApp.objects.get().secret


def test_a_secret_survives_a_change_of_the_secret_key(alice: User, secret: bytes, settings: Settings) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of the site, long enough for Django"
    assert app_codes.use_code(alice.pk, present_code(secret)) is CodeUse.RIGHT
    settings.SECRET_KEY_FALLBACKS = []
    next_code = app_codes.make_code(secret, app_codes.get_current_step() + 1)
    assert app_codes.use_code(alice.pk, next_code) is CodeUse.WRONG


def test_keeping_an_account_requires_the_factor(client: Client, alice: User, secret: bytes) -> None:
    deletion.request_deletion(alice)
    page = log_in(client, "alice")
    response = client.post("/accounts/keep/", {"token": page.context["token"]})
    assert response.headers["Location"] == FACTOR
    assert not is_logged_in(client)
    assert give(client, present_code(secret)).headers["Location"] == "/accounts/"


def test_a_form_without_csrf_token_is_refused(alice: User, secret: bytes) -> None:
    strict = Client(enforce_csrf_checks=True)
    for path in (FACTOR, "/accounts/confirm/", "/accounts/factors/remove/", "/accounts/factors/codes/"):
        assert strict.post(path).status_code == 403


@pytest.mark.parametrize("code", ["", " ", "x" * 41, "０００００００", "\0", "12345\u0660"])
def test_malformed_codes_are_refused(client: Client, secret: bytes, code: str) -> None:
    log_in(client, "alice")
    response = give(client, code)
    assert response.status_code == 200
    assert 'id="id_code-errors"' in response.content.decode()
