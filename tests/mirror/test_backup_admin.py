"""The backups in the admin: seen by staff, edited by nobody."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from redis import Redis

from mirror import send
from mirror.backup import registry
from mirror.backup.flush import flush
from mirror.models import BackupState
from tests.support.mirror.app.backups import best, play
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]
PAGE = "/admin/mirror/backupstate/"
Sent = list[tuple[str, str]]


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("carol"))
    return client


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What Celery was asked for."""
    found: Sent = []
    for task in ("flush_backup", "verify_backup", "restore_backup"):
        monkeypatch.setattr(send, task, lambda backup, task=task: not found.append((task, backup)))  # type: ignore[func-returns-value]
    return found


def page(client: Client) -> str:
    response = client.get(PAGE)
    assert response.status_code == 200
    return response.content.decode()


def act(client: Client, action: str, *chosen: str) -> str:
    asked = {"action": action, "_selected_action": chosen}
    return client.post(PAGE, asked, follow=True).content.decode()


def test_every_backup_is_shown_with_what_was_set_aside_and_why(staff: Client, redis: Redis) -> None:
    play(redis, "alice", 666)
    flush(best())
    text = page(staff)
    assert all(backup.name in text for backup in registry.all_backups())
    assert "alice: IntegrityError" in text
    assert "cold" in text


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_without_redis_they_are_shown_all_the_same(harm: str, staff: Client, redis_server: RedisServer) -> None:
    page(staff)
    getattr(redis_server, harm)()
    assert "unknown" in page(staff)


@pytest.mark.parametrize("action", ["flush", "verify", "restore"])
def test_what_is_to_be_done_is_asked_of_celery(action: str, staff: Client, sent: Sent) -> None:
    page(staff)
    assert "tbest: asked for" in act(staff, action, "tbest", "tbasket")
    assert sorted(sent) == [(f"{action}_backup", "tbasket"), (f"{action}_backup", "tbest")]


def test_a_broker_that_does_not_answer_is_said(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    page(staff)
    monkeypatch.setattr(send, "flush_backup", lambda backup: False)
    assert "tbest: the broker does not answer." in act(staff, "flush", "tbest")


def test_nobody_can_add_edit_or_delete(staff: Client) -> None:
    page(staff)
    assert staff.get(f"{PAGE}add/").status_code == 403
    assert staff.post(f"{PAGE}tbest/delete/", {"post": "yes"}).status_code == 403
    assert staff.post(f"{PAGE}tbest/change/", {"epoch": "x"}).status_code == 403
    act(staff, "delete_selected", "tbest")
    assert BackupState.objects.filter(backup="tbest").exists()


def test_somebody_who_may_only_look_is_offered_no_action_and_has_none(client: Client, sent: Sent) -> None:
    user: Any = get_user_model().objects.create_user("dave", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_backupstate"))
    client.force_login(user)
    assert "restore" not in page(client)
    act(client, "restore", "tbest")
    assert sent == []
