"""``mirror doctor`` names each problem with its severity and a hint, and finds none in a site that works."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.core.checks import CheckMessage, Warning
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import doctor, registry
from mirror.capture import install
from mirror.doctor import servers, sql
from mirror.doctor import settings as doctor_settings
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.redis import breaker, client, naming
from mirror.standalone import notices
from mirror.standalone.runner import Relay
from mirror.warm.cold import make_cold
from tests.projects.mirrortest.visits import pages
from tests.support.faults.full import full_disk, full_memory
from tests.support.mirror import world
from tests.support.mirror.command import run
from tests.support.servers import RedisServer
from tests.support.timeouts import PATIENT_SECONDS
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture
def swept(committed: None, no_hints: None, settings: Settings, timings: Timings) -> None:
    """Warm the mirrors and let a relay run once.

    On a busy machine the sweep may be a minute old before it is examined, and Redis may answer late, so an hour counts
    as fresh, and the time-outs of the tests as short.
    """
    settings.MIRROR = {
        **settings.MIRROR,
        "DOCTOR_CHECKS": (),  # the site's are in tests/site
    }
    timings(DOCTOR_AGE_SECONDS=3600.0, DOCTOR_TIMEOUT_SECONDS=PATIENT_SECONDS)
    world.warm()
    Relay().run_once()


def ids() -> list[str | None]:
    """Return the ids of all findings."""
    return [found.id for found in doctor.examine()]


def set_options(settings: Settings, **options: Any) -> None:
    """Change options of the requests' alias; None removes one."""
    cache = settings.CACHES["state"]
    merged = {name: value for name, value in {**cache["OPTIONS"], **options}.items() if value is not None}
    settings.CACHES = {**settings.CACHES, "state": {**cache, "OPTIONS": merged}}


@pytest.mark.usefixtures("swept")
def test_working_site_has_no_problem() -> None:
    assert doctor.examine() == []
    assert run("doctor")[:2] == (0, "No problems found.\n")
    assert run("doctor", "--json").said == []


@pytest.mark.usefixtures("swept")
def test_findings_have_a_severity_and_a_hint(redis: Redis) -> None:
    redis.delete(naming.clock(), naming.heartbeat())
    found = run("doctor", "--json")
    assert found.code == 1
    assert [(f["severity"], f["id"]) for f in found.said] == [("error", "mirror.E042"), ("warning", "mirror.W038")]
    assert all(f["text"] and "mirror run" in f["hint"] for f in found.said)
    error, warning, hint = run("doctor").out.splitlines()
    assert error == "error: No relay has swept this Redis yet. (mirror.E042)"
    assert warning.startswith("warning: There is no fresh heartbeat")
    assert hint.startswith("  Start ")


@pytest.mark.usefixtures("swept")
def test_warnings_alone_exit_with_0() -> None:
    make_cold("titem", client())
    assert ids() == ["mirror.W040"]
    found = run("doctor")
    assert (found.code, "cold mirrors: titem." in found.out) == (0, True)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"DATABASE": "absent"}, "mirror.E031"),
        ({"ALIAS": "absent"}, "mirror.E032"),
        ({"RELAY_ALIAS": "absent"}, "mirror.E032"),
        ({"PREFIX": "a{b}"}, "mirror.E023"),
        ({"BATHC": 1}, "mirror.W031"),
    ],
)
def test_wrong_settings_are_found(changed: dict[str, Any], expected: str, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, **changed}
    assert expected in ids()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"CONNECTION_POOL_CLASS": None, "SOCKET_TIMEOUT": PATIENT_SECONDS - 1}, "mirror.E033"),  # no existing pool
        ({"CONNECTION_FACTORY": None}, "mirror.W033"),
        ({"SOCKET_TIMEOUT": None}, "mirror.W034"),
        ({"SOCKET_TIMEOUT": PATIENT_SECONDS + 1}, "mirror.W034"),
    ],
)
@pytest.mark.usefixtures("swept")
@pytest.mark.only_on("single")  # it checks the connections or the reply of a single server
def test_unsuitable_connections_are_found(options: dict[str, Any], expected: str, settings: Settings) -> None:
    set_options(settings, **options)
    assert expected in ids()


@pytest.mark.usefixtures("swept")
def test_missing_middleware_is_found(settings: Settings) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != doctor_settings.MIDDLEWARE]
    assert ids() == ["mirror.W032"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({}, []),
        ({"cluster_enabled": 1}, ["mirror.E036"]),
        ({"redis_version": "6.0.16"}, ["mirror.E037"]),
        ({"role": "slave"}, ["mirror.E038"]),
        ({"maxmemory_policy": "volatile-lru"}, ["mirror.E039"]),
        ({"aof_enabled": 0}, ["mirror.W035"]),
        ({"maxmemory": 1000, "used_memory": 950}, ["mirror.W044"]),
        ({"maxmemory": 1000, "used_memory": 850}, []),
    ],
)
@pytest.mark.only_on("single")  # it checks the connections or the reply of a single server
def test_unsuitable_servers_are_found(reply: dict[str, Any], expected: list[str], redis: Redis) -> None:
    assert [message.id for message in servers.check_server({**redis.info(), **reply})] == expected


@pytest.mark.real
def test_evicting_or_absent_server_is_an_error(redis_server: RedisServer, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("swept")
    redis_server.client().config_set("maxmemory-policy", "allkeys-lru")
    assert "mirror.E039" in ids()
    redis_server.kill()
    found = run("doctor", "--json")
    assert (found.code, servers.NO_REDIS in [f["id"] for f in found.said]) == (1, True)


def test_server_that_hides_its_values_has_no_finding() -> None:
    assert list(servers.check_server({})) == []


@pytest.mark.real
@pytest.mark.parametrize(
    ("fill", "words"),
    [(full_memory, "its memory is full"), (full_disk, "it cannot save to its disk")],
)
def test_refused_writes_are_told_with_their_reason_and_without_consequences(
    fill: Callable[[RedisServer], AbstractContextManager[None]],
    words: str,
    redis_server: RedisServer,
    request: pytest.FixtureRequest,
) -> None:
    """A full server lacks a heartbeat and a sweep, its mirrors are behind, and no relay could help."""
    request.getfixturevalue("swept")
    Change.objects.create(mirror="titem", key="1")
    Change.objects.update(created_at="2020-01-01T00:00:00Z")
    redis_server.client().delete(naming.heartbeat(), naming.clock(), naming.marker("titem"))
    with fill(redis_server):
        found = [message for message in doctor.examine() if message.id != "mirror.W044"]
        assert [message.id for message in found] == [servers.NO_WRITES]
        assert words in found[0].msg
        assert "REDIS_URL" in str(found[0].hint)
        assert "mirror run" not in run("doctor").out
    breaker.reset()


@pytest.mark.usefixtures("swept")
@pytest.mark.parametrize("owner", ["marker", "witness"])
def test_other_site_on_the_same_database_is_found(owner: str, redis: Redis) -> None:
    other = "0" * 32
    if owner == "marker":
        found: Any = redis.get(naming.marker("titem"))
        layout, _, *rest = found.decode().split("|")
        redis.set(naming.marker("titem"), "|".join([layout, other, *rest]))
    else:
        redis.zadd(naming.history(), {f"witness|{other}|2026-01-01T00:00:00+00:00": 1})
    messages = {message.id: message for message in doctor.examine()}
    assert "mirror.E048" in messages
    hint = str(messages["mirror.E048"].hint)
    assert ("REDIS_URL" in hint, "REDIS_PREFIX" in hint) == (True, True)


@pytest.mark.usefixtures("swept")
def test_hints_name_the_settings_of_a_project_without_environment_variables(settings: Settings) -> None:
    settings.MIRROR = {name: value for name, value in settings.MIRROR.items() if name != "WORDS"}
    (found,) = servers.check_server({"role": "slave"})
    assert "the LOCATION of the cache alias" in str(found.hint)


@pytest.mark.usefixtures("swept")
def test_late_visits_and_an_unfinished_restore_are_found(redis: Redis) -> None:
    redis.xadd(pages.keys[0], {"page": "a", "at": 1}, id="1-0")
    redis.delete(naming.visits_restored(pages.beside))
    assert ids() == ["mirror.W046", "mirror.W047"]


@pytest.mark.usefixtures("swept")
def test_findings_of_the_project_are_added_and_told_once(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "DOCTOR_CHECKS": (f"{__name__}.find_something",) * 2}
    assert ids() == ["test.W001"]


def find_something() -> list[CheckMessage]:
    return [Warning("Something.", id="test.W001")]


@pytest.mark.usefixtures("swept")
def test_missing_trigger_is_found() -> None:
    capture = install.capture_for()
    trigger = next(found for found in capture.found().values() if found.table == "mirrortest_item")
    capture.run(capture.drop(trigger))
    try:
        assert ids() == ["mirror.E010"]
    finally:
        install.install()


@pytest.mark.usefixtures("swept")
def test_unapplied_migration_is_found() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("mirror", "0012_no_backups")
    try:
        assert ids() == [sql.NOT_MIGRATED]
    finally:
        recorder.record_applied("mirror", "0012_no_backups")


@pytest.mark.usefixtures("swept")
def test_layout_of_newer_code_is_found() -> None:
    State.objects.filter(mirror="titem").update(layout="99")
    assert ids() == ["mirror.E041"]


@pytest.mark.usefixtures("swept")
def test_old_sweep_and_different_clocks_are_found(
    redis: Redis, timings: Timings, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.set(naming.clock(), repr(changes.clock() - 7200))
    assert ids() == ["mirror.E042"]
    timings(DOCTOR_AGE_SECONDS=86400.0)
    assert ids() == []
    timings(DOCTOR_AGE_SECONDS=3600.0)
    now = changes.clock()
    monkeypatch.setattr(changes, "clock", lambda: now + 7200)
    assert ids() == ["mirror.W037", "mirror.E042"]


@pytest.mark.usefixtures("swept")
def test_backlog_is_found() -> None:
    Change.objects.create(mirror="titem", key="1", quarantined_at="2020-01-01T00:00:00Z")
    old = Change.objects.create(mirror="tgroup", key="1")
    Change.objects.filter(pk=old.pk).update(created_at="2020-01-01T00:00:00Z")
    assert sorted(map(str, ids())) == ["mirror.E043", "mirror.W039"]


@pytest.mark.usefixtures("swept")
def test_cold_mirror_is_listed_with_the_one_that_it_waits_for() -> None:
    name = registry.after_others()[0]
    ahead = registry.ahead(name)[0]
    for each in (name, ahead):
        make_cold(each, client())
    [found] = [message for message in doctor.examine() if message.id == "mirror.W040"]
    assert f"{name} (waits for {ahead}" in str(found.msg)


@pytest.mark.only_on("postgres")
def test_notifications_that_do_not_arrive_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def find() -> list[str | None]:
        return [message.id for message in sql._check_notices("default")]

    assert find() == []
    open_listening = notices.open_listening

    def open_other_session() -> Any:
        opened = open_listening()
        opened.cursor().execute("UNLISTEN *")  # like a session that a pooler has given to another client
        return opened

    monkeypatch.setattr(notices, "open_listening", open_other_session)
    assert find() == ["mirror.W042"]
