"""Suspensions: the account is inactive until a time, and becomes active again unless it is to be deleted."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.deletion import services as deletion
from accounts.models import AuditEvent, Session, Suspension, User
from accounts.suspension import AccountInactive, lift_suspension, suspend_user
from accounts.tasks import delete_accounts, lift_suspensions
from mirror.relay.drains import drain_all
from social.services.posts import create_post
from tests.support.accounts.factors import add_app, present_code
from tests.support.accounts.sessions import PASSWORD, log_in
from tests.support.warm_mirrors import rebuild

NOTICE = "/decisions/key/"
SUSPENSIONS = "/admin/accounts/suspension/"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org", password=PASSWORD)


@pytest.fixture
def set_days(settings: Settings) -> Callable[[float], None]:
    """Return a function that sets the clock of the site to some days from now."""

    def set_clock(days: float) -> None:
        settings.CLOCK = lambda: timezone.now() + timedelta(days=days)

    return set_clock


def in_days(days: float) -> datetime:
    return timezone.now() + timedelta(days=days)


def is_active(user: User) -> bool:
    user.refresh_from_db()
    return user.is_active


def enter(password: str = PASSWORD) -> tuple[Client, Any]:
    client = Client()
    return client, client.post("/accounts/login/", {"username": "alice", "password": password})


def test_a_suspension_ends_sessions_hides_posts_and_is_over_in_time(
    alice: User, set_days: Callable[[float], None]
) -> None:
    rebuild()
    here, post = log_in(alice), create_post(alice.pk, "Good morning")
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    drain_all()
    assert here.get("/accounts/").status_code == 302
    assert not Session.objects.filter(user=alice).exists()
    assert Client().get(f"/posts/{post.pk}/").status_code == 404
    set_days(2.9)
    assert lift_suspensions() == 0
    set_days(3.1)
    assert (lift_suspensions(), lift_suspensions()) == (1, 0)
    drain_all()
    assert is_active(alice)
    assert Client().get(f"/posts/{post.pk}/").status_code == 200
    assert log_in(alice).get("/accounts/").status_code == 200


def test_a_login_shows_the_end_and_the_way_to_appeal(alice: User) -> None:
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    client, response = enter()
    page = response.content.decode()
    assert response.status_code == 403
    assert "Your account is suspended" in page
    assert f'href="{NOTICE}"' in page
    assert client.get("/accounts/").status_code == 302


def test_a_wrong_password_does_not_reveal_the_suspension(alice: User) -> None:
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    assert "suspended" not in enter("a wrong password")[1].content.decode()


def test_an_account_that_is_inactive_for_another_reason_is_not_suspended(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    with pytest.raises(AccountInactive):
        suspend_user(alice.pk, in_days(3), notice=NOTICE)
    assert not lift_suspension(alice.pk)
    assert not is_active(alice)


def test_the_end_of_a_suspension_does_not_revive_an_account_that_is_to_be_deleted(
    alice: User, set_days: Callable[[float], None]
) -> None:
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    deletion.request_deletion(alice, by_staff=True)
    set_days(4)
    assert lift_suspensions() == 1
    assert not is_active(alice)
    set_days(15)
    assert delete_accounts() == 1
    assert not User.objects.filter(pk=alice.pk).exists()


@pytest.mark.parametrize("has_factor", [False, True])
def test_keeping_an_account_does_not_end_the_suspension(alice: User, has_factor: bool) -> None:
    secret = add_app(alice) if has_factor else b""
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    deletion.request_deletion(alice)
    client, response = enter()
    assert "Keep your account?" in response.content.decode()
    response = client.post("/accounts/keep/", {"token": response.context["token"]})
    if has_factor:
        response = client.post("/accounts/login/factor/", {"code": present_code(secret)})
    assert "Your account is suspended" in response.content.decode()
    assert client.get("/accounts/").status_code == 302
    assert not is_active(alice)
    assert lift_suspension(alice.pk)
    assert is_active(alice)


def test_a_suspension_during_the_grace_period_holds_after_the_account_is_kept(alice: User) -> None:
    deletion.request_deletion(alice)
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    client, response = enter()
    client.post("/accounts/keep/", {"token": response.context["token"]})
    assert not is_active(alice)
    assert "Your account is suspended" in enter()[1].content.decode()


def test_staff_reactivate_a_suspended_user_for_good(alice: User, set_days: Callable[[float], None]) -> None:
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    User.objects.filter(pk=alice.pk).update(is_active=True)
    lift_suspensions()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    set_days(4)
    assert lift_suspensions() == 0
    assert not is_active(alice)


def test_only_the_suspension_with_these_reasons_is_lifted(alice: User) -> None:
    suspend_user(alice.pk, in_days(3), notice=NOTICE)
    suspend_user(alice.pk, in_days(5), notice="/decisions/later/")
    assert not lift_suspension(alice.pk, notice=NOTICE)
    assert lift_suspension(alice.pk, notice="/decisions/later/")
    assert is_active(alice)


def test_staff_lift_suspensions_but_not_those_of_other_staff(alice: User) -> None:
    bob = User.objects.create_user("bob", is_staff=True)
    for user in (alice, bob):
        suspend_user(user.pk, in_days(3), notice=NOTICE)
    dora = User.objects.create_user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.filter(codename__in=["view_suspension", "delete_suspension"]))
    client = Client()
    client.force_login(dora)
    asked = {"action": "lift", "_selected_action": [alice.pk, bob.pk]}
    assert "1 suspension was lifted." in client.post(SUSPENSIONS, asked, follow=True).content.decode()
    assert client.post(f"{SUSPENSIONS}{bob.pk}/delete/", {"post": "yes"}).status_code == 403
    assert is_active(alice)
    assert list(Suspension.objects.values_list("pk", flat=True)) == [bob.pk]
    assert AuditEvent.objects.get(kind=AuditEvent.Kind.STAFF).actor == dora
