"""The audit log: its events, their transactions, read access and retention."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts import tasks
from accounts.audit import log
from accounts.audit.log import Kind, record_event
from accounts.audit.models import AuditEvent
from accounts.models import Session, User
from shop.models import Order
from shop.services.errors import OrderNotFound
from shop.services.orders import cancel_order
from tests.support.accounts.lockout import HOME, fail_logins
from tests.support.shop.make import make_order, make_product

PATH, USERS = "/admin/accounts/auditevent/", "/admin/accounts/user/"
PASSWORD, NEW = "a quiet bookshop", "a noisy bookshop"

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol() -> User:
    return User.objects.create_superuser("carol", password=PASSWORD)


@pytest.fixture
def staff(client: Client, carol: User) -> Client:
    client.force_login(carol)
    return client


def events(*kinds: str) -> list[tuple[Any, ...]]:
    """Return actor, kind, object and address of the events, oldest first."""
    found = AuditEvent.objects.order_by("pk")
    if kinds:
        found = found.filter(kind__in=kinds)
    return list(found.values_list("actor__username", "kind", "object", "address"))


def test_a_lock_out_is_recorded_once() -> None:
    fail_logins("Alice", times=4)
    assert events() == []
    fail_logins("Alice", times=4)
    assert events() == [(None, Kind.LOCKED_OUT, "alice", HOME)]


def test_a_new_password_is_recorded(staff: Client) -> None:
    given = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert staff.post("/accounts/password_change/", given).status_code == 302
    assert events() == [("carol", Kind.PASSWORD, "carol", "127.0.0.1")]


def test_admin_actions_are_recorded_with_the_address(staff: Client) -> None:
    people = [User.objects.create_user(name) for name in ("alice", "bob")]
    asked = {"action": "end_sessions", "_selected_action": [user.pk for user in people]}
    staff.post(USERS, asked, REMOTE_ADDR="192.0.2.7")
    assert events() == [("carol", Kind.STAFF, name, "192.0.2.7") for name in ("alice", "bob")]
    staff.post(USERS, asked | {"action": "delete_accounts", "confirmed": "yes"}, REMOTE_ADDR="192.0.2.7")
    assert events()[2:] == events()[:2]
    User.objects.filter(username__in=["alice", "bob"]).delete()
    assert events() == [("carol", Kind.STAFF, "", "192.0.2.7")] * 4  # deleting a user removes the name from the log
    group = {"name": "shelves", "permissions": []}
    assert staff.post("/admin/auth/group/add/", group).status_code == 302
    assert events()[-1] == ("carol", Kind.STAFF, "shelves", "127.0.0.1")


def test_sessions_that_staff_end_are_recorded(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    Client().force_login(alice)
    session = Session.objects.get(user=alice)
    staff.post("/admin/accounts/session/", {"action": "end_selected", "_selected_action": [session.pk]})
    assert events() == [("carol", Kind.STAFF, session.pk[:16], "127.0.0.1")]


def test_changed_permissions_are_recorded_by_name() -> None:
    alice, group = User.objects.create_user("alice"), Group.objects.create(name="shelves")
    alice.groups.add(group)
    group.permissions.set(Permission.objects.filter(codename="view_book"))
    alice.groups.clear()
    assert list(AuditEvent.objects.order_by("pk").values_list("kind", "object", "details")) == [
        (Kind.RIGHTS, "alice", "added: shelves"),
        (Kind.RIGHTS, "shelves", "added: catalogue | book | Can view book"),
        (Kind.RIGHTS, "alice", "removed all: groups"),
    ]


def test_an_order_cancelled_by_staff_is_recorded_in_its_transaction(carol: User) -> None:
    alice = User.objects.create_user("alice")
    mine, other = (make_order(alice, make_product(), key=key) for key in ("1", "2"))
    Order.objects.update(state="paid")
    cancel_order(mine.pk, alice)
    with pytest.raises(OrderNotFound):
        cancel_order(other.pk, User.objects.create_user("dora", is_staff=True))  # without the permission
    assert events() == []
    with pytest.raises(RuntimeError), transaction.atomic():
        cancel_order(other.pk, carol)
        assert events() == [("carol", Kind.CANCELLED, f"#{other.pk}", "")]
        raise RuntimeError
    assert events() == []


def test_an_export_is_recorded(staff: Client) -> None:
    staff.get("/loginlog/report/?format=csv")
    ((actor, kind, name, _),) = events()
    assert (actor, kind) == ("carol", Kind.EXPORT)
    assert name.startswith("logins-activity-")


def test_control_characters_are_escaped() -> None:
    event = record_event(Kind.STAFF, "a\nb\u202e", "c\x1b[31m")
    assert (event.object, event.details) == (r"a\nb\u202e", r"c\x1b[31m")


def test_the_log_can_be_searched_but_not_changed(staff: Client) -> None:
    event = record_event(Kind.EXPORT, "needle.csv")
    record_event(Kind.EXPORT, "other.csv")
    page = staff.get(PATH, {"q": "needle"}).content.decode()
    assert "needle.csv" in page
    assert "other.csv" not in page
    assert staff.get(f"{PATH}{event.pk}/change/").status_code == 200
    for way in ("add/", f"{event.pk}/change/", f"{event.pk}/delete/"):
        assert staff.post(PATH + way, {"object": "x", "post": "yes"}).status_code == 403, way
    assert AuditEvent.objects.filter(object="needle.csv").exists()


def test_events_are_deleted_after_a_year_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SLICE_SIZE", 2)
    for days in (364, 366, 367, 368):
        AuditEvent.objects.filter(pk=record_event(Kind.EXPORT, str(days)).pk).update(
            at=timezone.now() - timedelta(days=days)
        )
    assert log.delete_old_events() == 2
    tasks.clean_sessions()
    assert [name for _, _, name, _ in events()] == ["364"]
