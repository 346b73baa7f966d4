"""The admin page of backups: staff can read it but not edit it."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils.text import capfirst
from redis import Redis

from mirror.backup import registry
from mirror.backup.flush import flush
from mirror.models import BackupState
from mirror.relay import send
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
    """Collect the tasks that are sent to Celery."""
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


def test_every_backup_is_listed_with_the_errors_of_its_quarantined_items(staff: Client, redis: Redis) -> None:
    play(redis, "alice", 666)
    flush(best())
    text = page(staff)
    assert all(capfirst(registry.describe(backup.name)) in text for backup in registry.all_backups())
    assert "alice: IntegrityError" in text
    assert "cold" in text


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_backups_are_listed_while_redis_is_down(harm: str, staff: Client, redis_server: RedisServer) -> None:
    page(staff)
    getattr(redis_server, harm)()
    assert "unknown" in page(staff)


@pytest.mark.parametrize("action", ["flush", "verify", "restore"])
def test_actions_send_tasks_to_celery(action: str, staff: Client, sent: Sent) -> None:
    page(staff)
    assert "tbest: requested" in act(staff, action, "tbest", "tbasket")
    assert sorted(sent) == [(f"{action}_backup", "tbasket"), (f"{action}_backup", "tbest")]


def test_unreachable_broker_is_reported(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    page(staff)
    monkeypatch.setattr(send, "flush_backup", lambda backup: False)
    assert "tbest: the broker is not responding." in act(staff, "flush", "tbest")


def test_backup_states_cannot_be_added_edited_or_deleted(staff: Client) -> None:
    page(staff)
    assert staff.get(f"{PAGE}add/").status_code == 403
    assert staff.post(f"{PAGE}tbest/delete/", {"post": "yes"}).status_code == 403
    assert staff.post(f"{PAGE}tbest/change/", {"epoch": "x"}).status_code == 403
    act(staff, "delete_selected", "tbest")
    assert BackupState.objects.filter(backup="tbest").exists()


def test_staff_with_view_permission_only_cannot_run_actions(client: Client, sent: Sent) -> None:
    user: Any = get_user_model().objects.create_user("dave", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_backupstate"))
    client.force_login(user)
    assert "restore" not in page(client)
    act(client, "restore", "tbest")
    assert sent == []
