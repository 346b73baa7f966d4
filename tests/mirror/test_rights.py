"""The rights of the site's user, and of the user "default", without which a restart of Redis loses transactions."""

from collections.abc import Iterator

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.doctor import servers
from mirror.doctor.servers import check_redis
from mirror.management import texts
from mirror.redis import check_default_user
from mirror.redis.clients import relay_client
from mirror.redis.pool import UnknownIncarnation, incarnation_of
from mirror.visits import register
from mirror.visits.declare import all_kinds, unregister
from tests.support.fixtures import use_redis
from tests.support.mirror.command import run
from tests.support.servers.shipped import ShippedServer
from tests.support.timeouts import ShortTimeouts

LOSSY, UNKNOWN = "mirror.E045", "mirror.I001"
SHIPPED = ""
NONE = "user default off"


@pytest.fixture(params=[SHIPPED])
def server(
    settings: Settings, short_timeouts: ShortTimeouts, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[ShippedServer]:
    """Use a server with these rights of "default"."""
    server = ShippedServer("state", default_user=request.param)
    with server, use_redis(server, settings, monkeypatch):
        yield server


def ids(found: list[CheckMessage]) -> list[str | None]:
    return [message.id for message in found]


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (SHIPPED, []),
        ("user default on nopass ~* &* +@all", []),
        ("user default off ~* -@all +@read +@write", []),
        ("user default off ~* +@all -@dangerous", []),
        (NONE, [LOSSY]),
        ("user default off ~other:* +@all", [LOSSY]),
        ("user default off ~* +@read", [LOSSY]),
        ("user default off ~* +@all -zadd", [LOSSY]),
    ],
    indirect=["server"],
)
def test_missing_rights_are_found_by_a_user_who_may_ask(server: ShippedServer, expected: list[str]) -> None:
    with server.plain_client() as admin:
        assert ids(list(check_default_user(admin))) == expected


@pytest.mark.parametrize("server", [SHIPPED, NONE], indirect=True)
def test_doctor_explains_what_a_user_without_rights_may_not_ask(server: ShippedServer) -> None:
    (found,) = check_redis(relay_client())
    assert (found.id, texts.severity(found), found.is_serious()) == (UNKNOWN, "info", False)
    assert "'site'" in found.msg
    assert "user default off ~* &* +@all" in str(found.hint)


@pytest.mark.parametrize("server", ["user default on nopass ~* &* +@all"], indirect=True)
def test_nothing_is_asked_by_the_user_itself(server: ShippedServer) -> None:
    with Redis(port=server.port) as client:
        assert ids(list(check_default_user(client))) == []
        assert client.info("commandstats").keys().isdisjoint({"cmdstat_acl", "cmdstat_acl|getuser"})


def test_deployment_check_names_state_and_broker(server: ShippedServer) -> None:
    found: list[CheckMessage] = run_checks(tags=["redis"], include_deployment_checks=True)
    broker, state = sorted(str(message.msg) for message in found if message.id == UNKNOWN)
    assert broker.startswith("Broker (CELERY_BROKER_URL): User 'broker' ")
    assert state.startswith("User 'site' ")
    assert not any(message.is_serious() for message in found)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("-info", servers.NO_RIGHTS),
        ("-setrange", servers.NO_RIGHTS),
        ("-eval", servers.NO_RIGHTS),
        ("-xreadgroup", servers.NO_RIGHTS),
        ("-xgroup", servers.NO_RIGHTS),
        ("-xadd", servers.NO_RIGHTS),
        ("resetkeys ~other:*", servers.NO_RIGHTS),
        (">another <a-password-of-tests", servers.NO_REDIS),
    ],
)
def test_missing_rights_of_the_site_are_named(rule: str, expected: str, server: ShippedServer) -> None:
    with server.plain_client() as admin:
        admin.execute_command("ACL", "SETUSER", "site", *rule.split())
        admin.client_kill_filter(user="site")
    found = [message for message in check_redis(relay_client()) if message.id != UNKNOWN]
    assert ids(found) == [expected]
    assert "REDIS_URL" in f"{found[0].msg} {found[0].hint}"
    out = run("doctor", "--json")
    assert (out.code, expected in [f["id"] for f in out.said]) == (1, True)


@pytest.mark.django_db(transaction=True)
def test_rights_on_streams_are_asked_only_of_sites_with_visits(server: ShippedServer) -> None:
    with server.plain_client() as admin:
        admin.execute_command("ACL", "SETUSER", "site", "-@stream")
    kinds = all_kinds()
    for kind in kinds:
        unregister(kind.name)
    try:
        assert ids(check_redis(relay_client())) == [UNKNOWN]
    finally:
        for kind in kinds:
            register(kind)
    (lacking,) = [message for message in check_redis(relay_client()) if message.id == servers.NO_RIGHTS]
    assert "XREADGROUP" in lacking.msg
    assert "+xreadgroup" in str(lacking.hint)


def test_server_that_hides_its_identity_counts_as_away() -> None:
    with pytest.raises(UnknownIncarnation):
        incarnation_of({"run_id": "1"})
