"""The admin pages of the outbox and of the mirrors: staff can read them but not edit them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from redis import Redis

from accounts.audit.models import AuditEvent
from mirror import registry, tasks
from mirror.management import requested
from mirror.models import Change, Job, State
from mirror.outbox import changes as outbox
from mirror.redis import naming
from mirror.redis.recorder import record
from mirror.relay import send
from mirror.relay.drains import drain_all
from mirror.upkeep import rebuild
from mirror.verify import runs
from tests.projects.mirrortest.models import Group, Item
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = pytest.mark.django_db
CHANGES, STATES = "/admin/mirror/change/", "/admin/mirror/state/"
TITEM = f"{STATES}titem/change/"
LONG_AGO = "2020-01-01T00:00:00Z"
Sent = list[tuple[Any, ...]]


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("carol"))
    return client


@pytest.fixture
def watcher(client: Client) -> Client:
    """Log in a member of staff with permission to view and nothing else."""
    user = get_user_model().objects.create_user("dave", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_change", "view_state"]))
    client.force_login(user)
    return client


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Collect the tasks that are sent to Celery."""
    found: Sent = []

    def take(task: str) -> Callable[..., bool]:
        def taken(*names: Any, **options: Any) -> bool:
            found.append((task, *names, options))
            return True

        return taken

    for task in ("perform", "sweep"):
        monkeypatch.setattr(send, task, take(task))
    monkeypatch.setattr(send, "sweep_soon", lambda: None)  # the session's mirror may be cold
    return found


@pytest.fixture
def changes() -> dict[str, Change]:
    """Create one pending, one quarantined and one applied change."""
    make = Change.objects.create
    return {
        "pending": make(mirror="titem", key="waits"),
        "quarantined": make(
            mirror="titem", key="cannot", attempts=3, quarantined_at=LONG_AGO, error="ZeroDivisionError: no"
        ),
        "applied": make(mirror="titem", key="arrived", applied_at=LONG_AGO),
    }


def page(client: Client, path: str, **asked: str) -> str:
    response = client.get(path, asked)
    assert response.status_code == 200
    return response.content.decode()


def act(client: Client, path: str, action: str, *chosen: object) -> str:
    asked = {"action": action, "_selected_action": [str(getattr(c, "pk", c)) for c in chosen]}
    return client.post(path, asked, follow=True).content.decode()


def test_outbox_lists_pending_and_quarantined_changes_with_their_errors(
    staff: Client, changes: dict[str, Change]
) -> None:
    text = page(staff, CHANGES)
    assert "waits" in text
    assert "cannot" in text
    assert "ZeroDivisionError: no" in text
    assert "arrived" not in text


@pytest.mark.parametrize(("status", "shown"), [("pending", "waits"), ("quarantined", "cannot"), ("applied", "arrived")])
def test_outbox_can_be_filtered_by_state(status: str, shown: str, staff: Client, changes: dict[str, Change]) -> None:
    text = page(staff, CHANGES, status=status)
    assert [key for key in ("waits", "cannot", "arrived") if key in text] == [shown]


def test_search_finds_a_change_by_its_exact_key(staff: Client, changes: dict[str, Change]) -> None:
    assert "waits" in page(staff, CHANGES, q="waits")
    assert "cannot" not in page(staff, CHANGES, q="waits")


def test_retry_action_resets_only_quarantined_changes(staff: Client, changes: dict[str, Change], sent: Sent) -> None:
    text = act(staff, CHANGES, "retry", *changes.values())
    assert "1 change will be retried." in text
    again = Change.objects.get(key="cannot")
    assert (again.quarantined_at, again.attempts, again.applied_at) == (None, 0, None)
    assert Change.objects.get(key="arrived").applied_at is not None
    assert sent == [("sweep", {})]


def test_discard_action_deletes_only_quarantined_changes(staff: Client, changes: dict[str, Change]) -> None:
    assert "1 change was discarded." in act(staff, CHANGES, "discard", *changes.values())
    assert {change.key for change in Change.objects.filter(mirror="titem")} == {"waits", "arrived"}


def test_list_of_mirrors_includes_mirrors_that_were_never_rebuilt(staff: Client) -> None:
    State.objects.create(mirror="titem", verified_at=LONG_AGO, differences=12345)
    State.objects.create(mirror="was declared once")
    text = page(staff, STATES)
    assert "12345" in text
    assert all(mirror.name.replace("'", "&#x27;") in text for mirror in registry.all_mirrors())
    assert "was declared once" not in text
    assert "cold" in text


def test_list_of_mirrors_reads_redis_once(staff: Client) -> None:
    page(staff, STATES)
    with record() as seen:
        page(staff, STATES)
    assert sum(command.args[:1] == (naming.marker("titem"),) for command in seen.commands) == 1


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_list_of_mirrors_is_shown_while_redis_is_down(harm: str, staff: Client, redis_server: RedisServer) -> None:
    getattr(redis_server, harm)()
    assert "unknown" in page(staff, STATES)


@pytest.mark.parametrize(("action", "kind"), [("verify", "verify"), ("check_repair", "check"), ("rebuild", "rebuild")])
def test_actions_request_jobs_and_are_logged(action: str, kind: str, staff: Client, sent: Sent) -> None:
    page(staff, STATES)
    assert "Titem: requested" in act(staff, STATES, action, "titem", "tgroup")
    assert set(Job.objects.values_list("mirror", "kind")) == {("titem", kind), ("tgroup", kind)}
    assert sorted(sent) == [("perform", job.pk, {}) for job in Job.objects.order_by("pk")]
    assert {entry.object_id for entry in LogEntry.objects.all()} == {"titem", "tgroup"}
    assert AuditEvent.objects.filter(details__contains=f"Requested: {Job.Kind(kind).label}").count() == 2


def test_unreachable_broker_is_reported(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    page(staff, STATES)
    monkeypatch.setattr(send, "perform", lambda job: False)
    assert "Titem: the broker is not responding." in act(staff, STATES, "verify", "titem")
    assert not Job.objects.exists()


def start(client: Client, job: str) -> str:
    """Press a button on the page of a mirror. Return the page that follows."""
    response = client.post(TITEM, {"job": job}, follow=True)
    return response.content.decode() if response.status_code == 200 else str(response.status_code)


@pytest.fixture
def item(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Item:
    """Create an item whose record in Redis was edited by hand. Jobs run at once."""

    def perform(job: int) -> bool:
        requested.perform(job)
        return True

    monkeypatch.setattr(send, "perform", perform)
    item = Item.objects.create(name="a", score=2, group=Group.objects.create(name="g"))
    drain_all()
    redis.set(f"titem:{item.pk}", "{}")
    return item


@pytest.mark.django_db(transaction=True)
def test_repair_follows_a_dry_run_and_results_stay_listed(staff: Client, item: Item, redis: Redis) -> None:
    assert "start a dry run first" in start(staff, "repair")
    html = start(staff, "check")
    assert "dry run of a repair: 1 difference" in html
    assert f"{item.pk}: stale <code>titem:{item.pk}</code>" in html
    assert redis.get(f"titem:{item.pk}") == b"{}"
    assert "repair: 0 differences left" in start(staff, "repair")
    assert redis.get(f"titem:{item.pk}") != b"{}"
    assert "start a dry run first" in start(staff, "repair")
    html = start(staff, "verify")
    assert html.index("verification: 0 differences") < html.index("dry run of a repair: 1 difference")
    assert "1 difference" not in page(staff, STATES)


@pytest.mark.django_db(transaction=True)
def test_progress_and_errors_are_shown(
    staff: Client, item: Item, timings: Timings, monkeypatch: pytest.MonkeyPatch
) -> None:
    timings(JOB_PROGRESS_SECONDS=0.0)
    seen: list[str] = []

    def fail(names: object, progress: Any) -> None:
        for rows in (1, 2):
            progress("titem", rows)
            seen.append(page(staff, TITEM))
        raise ZeroDivisionError("no")

    monkeypatch.setattr(runs, "verify", fail)
    with pytest.raises(ZeroDivisionError):
        start(staff, "verify")
    assert ['max="1" value="1"' in seen[0], 'max="1" value="3"' in seen[1]] == [True, True]
    assert all('data-jobs="running"' in html for html in seen)
    assert "ZeroDivisionError: no" in page(staff, TITEM)
    assert 'data-jobs="running"' not in page(staff, TITEM)


def test_old_jobs_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send, "perform", lambda job: True)
    monkeypatch.setattr(requested, "KEPT_JOBS", 2)
    other = requested.request("tgroup", "verify")
    jobs = [requested.request("titem", "verify") for _ in range(4)]
    assert set(Job.objects.all()) == {other, *jobs[-2:]}
    requested.perform(0)  # deleted before it began


def test_lost_job_is_not_followed_for_ever(staff: Client) -> None:
    Job.objects.create(mirror="titem", kind="verify")
    assert 'data-jobs="running"' in page(staff, TITEM)
    Job.objects.update(requested_at=LONG_AGO)
    assert 'data-jobs="running"' not in page(staff, TITEM)


def test_quarantined_changes_of_a_mirror_are_retried_or_discarded(
    staff: Client, changes: dict[str, Change], sent: Sent
) -> None:
    Change.objects.create(mirror="tgroup", key="other", quarantined_at=LONG_AGO)
    assert "1 change will be retried." in start(staff, "retry")
    assert Change.objects.filter(key="cannot", quarantined_at=None).exists()
    Change.objects.filter(key="cannot").update(quarantined_at=LONG_AGO)
    assert "1 change was discarded." in start(staff, "discard")
    assert list(Change.objects.quarantined().values_list("key", flat=True)) == ["other"]
    assert [entry.object_id for entry in LogEntry.objects.all()] == ["titem", "titem"]


def test_page_of_a_mirror_needs_permissions_and_a_csrf_token(watcher: Client, sent: Sent) -> None:
    assert 'name="job"' not in page(watcher, TITEM)
    assert watcher.post(TITEM, {"job": "rebuild"}).status_code == 403
    carol = get_user_model().objects.create_superuser("carol")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(carol)
    assert strict.post(TITEM, {"job": "rebuild"}).status_code == 403
    assert strict.get(f"{STATES}nothing/change/").status_code == 404
    watcher.force_login(get_user_model().objects.create_user("erin", is_staff=True))
    assert watcher.get(TITEM).status_code == 403
    assert sent == []


def test_names_of_mirrors_are_plain_words(staff: Client) -> None:
    html = page(staff, STATES)
    assert "Blocks and mutes" in html
    assert not re.search(r">\s*shun\s*<", html)


@pytest.mark.parametrize("path", [CHANGES, STATES])
def test_changes_and_states_cannot_be_added_edited_or_deleted(
    path: str, staff: Client, changes: dict[str, Change]
) -> None:
    page(staff, STATES)
    pk = changes["pending"].pk if path == CHANGES else "titem"
    assert staff.get(f"{path}add/").status_code == 403
    assert staff.post(f"{path}{pk}/delete/", {"post": "yes"}).status_code == 403
    assert staff.post(f"{path}{pk}/change/", {"key": "x", "mirror": "x"}).status_code == 403
    assert 'name="_save"' not in page(staff, f"{path}{pk}/change/")
    act(staff, path, "delete_selected", pk)
    assert Change.objects.get(pk=changes["pending"].pk).key == "waits"
    assert State.objects.filter(mirror="titem").exists()


def test_staff_with_view_permission_only_cannot_run_actions(
    watcher: Client, changes: dict[str, Change], sent: Sent
) -> None:
    assert "discard" not in page(watcher, CHANGES)
    act(watcher, CHANGES, "discard", changes["quarantined"])
    act(watcher, STATES, "rebuild", "titem")
    assert Change.objects.quarantined().exists()
    assert sent == []


def test_anonymous_visitors_are_redirected(client: Client) -> None:
    assert client.get(CHANGES).status_code == 302
    assert client.get(STATES).status_code == 302


def test_tasks_call_rebuild_and_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def note(names: object, *args: object, **options: object) -> list[Any]:
        asked.append(names)
        return []

    monkeypatch.setattr(rebuild, "rebuild", note)
    monkeypatch.setattr(rebuild, "rebuild_if_cold", note)
    monkeypatch.setattr(runs, "verify", note)
    tasks.rebuild("titem", if_cold=False)
    tasks.rebuild("titem")
    tasks.verify("titem")
    assert asked == [["titem"], "titem", ["titem"]]


def test_retry_and_discard_count_only_quarantined_changes(changes: dict[str, Change]) -> None:
    assert outbox.retry(Change.objects.all()) == 1
    assert outbox.discard(Change.objects.all()) == 0
