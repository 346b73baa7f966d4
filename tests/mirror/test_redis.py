"""Connections learn the incarnation when they open; the errors that mean Redis is away; and the circuit breaker."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.redis import quick
from mirror.redis.circuit_breaker import Breaker
from mirror.redis.clients import breaker, client, incarnation, try_redis, work_or_wait
from mirror.redis.errors import is_away
from mirror.redis.pool import is_in_cluster, parse_info
from mirror.redis.recorder import record
from mirror.redis.scripts import Script
from mirror.redis.session import Session
from tests.support.servers import RedisServer, wait_until


@pytest.mark.parametrize("error", [RedisConnectionError("gone"), RedisTimeoutError("slow")])
def test_connection_errors_mean_away(error: RedisError) -> None:
    assert is_away(error)


@pytest.mark.parametrize("error", [ResponseError("WRONGTYPE Operation"), ValueError("x"), OperationalError("x")])
def test_errors_of_commands_or_of_sql_do_not_mean_away(error: Exception) -> None:
    assert not is_away(error)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("redis_mode:cluster", True),
        ("server_mode:cluster", True),
        ("redis_mode:standalone\nserver_mode:standalone", False),
    ],
)
def test_master_of_a_cluster_of_redis_or_valkey_is_recognized(reply: str, expected: bool) -> None:
    assert is_in_cluster(parse_info(reply)) == expected


@pytest.fixture
def script(tmp_path: Path) -> Script:
    path = tmp_path / "write.lua"
    path.write_text("return redis.call('SET', KEYS[1], ARGV[1])")
    return Script(path)


def fill_up(server: RedisServer) -> None:
    with server.client() as redis:
        redis.config_set("maxmemory", "1")


def make_replica(server: RedisServer) -> None:
    with server.client() as redis:
        redis.replicaof("127.0.0.1", "1")


def want_replicas(server: RedisServer) -> None:
    with server.client() as redis:
        redis.config_set("min-replicas-to-write", "1")


def forbid_writes(server: RedisServer) -> None:
    with server.client() as redis:
        redis.execute_command("ACL", "SETUSER", "default", "-set")


def fail_to_save(server: RedisServer) -> None:
    with server.client() as redis:
        redis.config_set("save", "3600 1000000")
        shutil.rmtree(server.data)
        redis.bgsave()
        wait_until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err", "a failed snapshot")


def by_command(script: Script) -> None:
    client().set("a", "1")


def by_session(script: Script) -> None:
    with Session(client()) as session:
        session.execute([("SET", "a", "1")])


def by_quick_pipeline(script: Script) -> None:
    pipe = client().pipeline(transaction=False)
    pipe.set("a", "1")
    quick.execute(pipe)


def by_pipeline(script: Script) -> None:
    client().pipeline(transaction=False).set("a", "1").execute()


def by_transaction(script: Script) -> None:
    client().pipeline().set("a", "1").execute()


def by_script(script: Script) -> None:
    script(client(), ["a"], ["1"])


def by_script_in_pipeline(script: Script) -> None:
    client().pipeline(transaction=False).eval(script.text, 1, "a", "1").execute()


def by_script_in_transaction(script: Script) -> None:
    with Session(client()) as session:
        session.execute([("EVAL", script.text, 1, "a", "1")])


WAYS = [
    by_command, by_session, by_quick_pipeline, by_pipeline, by_transaction, by_script, by_script_in_pipeline,
    by_script_in_transaction,
]  # fmt: skip


@pytest.mark.parametrize("refuse", [fill_up, make_replica, want_replicas, forbid_writes, fail_to_save])
@pytest.mark.parametrize("write", WAYS)
def test_server_that_refuses_writes_counts_as_away(
    redis_server: RedisServer,
    script: Script,
    refuse: Callable[[RedisServer], None],
    write: Callable[[Script], None],
) -> None:
    write(script)
    refuse(redis_server)
    with pytest.raises(RedisError) as caught:
        write(script)
    assert is_away(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "Error running script (call to f_0a): @user_script:66: -OOM command not allowed when used memory is high",
        "Error running script (call to f_0a): @user_script:1: @user_script: 1: -MISCONF Redis is configured to save",
        "READONLY You can't write against a read only replica.",
        "CLUSTERDOWN The cluster is down",
    ],
)
def test_error_codes_of_refusals_are_found_anywhere_in_the_message(text: str) -> None:
    assert is_away(ResponseError(text))


@pytest.mark.parametrize(
    "text",
    [
        "Error running script (call to f_0a): @user_script:66: WRONGTYPE Operation against a key",
        "Error running script (call to f_0a): @user_script:66: user_script:66: OOM is what the value says",
        "BUSYGROUP Consumer Group name already exists",
    ],
)
def test_errors_of_single_keys_are_no_refusals(text: str) -> None:
    assert not is_away(ResponseError(text))


@pytest.mark.only_on("single")  # it names the incarnation of a single server
def test_connection_learns_the_incarnation_without_being_recorded(redis: Redis) -> None:
    with record() as seen:
        found = incarnation(client(), ask=False)
    client().connection_pool.disconnect()
    with record() as seen, Session(client()) as session:
        session.ask([("PING",)])
        assert session.incarnation == found
    assert [command.name for command in seen.commands] == ["PING"]
    assert found == f"{redis.info('server')['run_id'][:20]}:{redis.info('replication')['master_replid'][:20]}"


def test_restarted_server_is_another_incarnation(redis_server: RedisServer) -> None:
    before = incarnation(client(), ask=True)
    redis_server.restart()
    assert client().ping()
    assert incarnation(client()) != before


def test_promoted_replica_is_another_incarnation_on_open_connections(redis_server: RedisServer) -> None:
    redis = client()
    redis.ping()
    before = incarnation(redis)
    with redis_server.client() as other:
        other.replicaof("127.0.0.1", "1")
        other.replicaof("no", "one")
    assert incarnation(redis) == before
    assert incarnation(redis, ask=True) != before
    with Session(redis) as session:
        assert session.incarnation != before


def test_breaker_opens_after_a_failure_and_closes_after_its_time(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 1.0}
    now = [100.0]
    breaker = Breaker(clock=lambda: now[0])
    assert not breaker.open()
    breaker.failed()
    assert breaker.open()
    now[0] += 0.99
    assert breaker.open()
    now[0] += 0.02
    assert not breaker.open()
    breaker.failed()
    breaker.reset()
    assert not breaker.open()


def test_an_error_of_a_key_falls_back_and_leaves_the_breaker_closed(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    client().set("a key", "text")
    assert try_redis(lambda used: used.get("a key"), lambda: b"from SQL") == b"text"
    log = logging.getLogger("shop")
    assert try_redis(lambda used: used.llen("a key"), lambda: -1, log, "About %s: %s", "a list") == -1
    assert not breaker.open()
    assert [record.name for record in caplog.records] == ["shop"]
    assert caplog.messages[0].startswith("About a list: WRONGTYPE")


def test_a_failure_falls_back_and_opens_the_breaker(redis_server: RedisServer) -> None:
    redis_server.kill()
    assert try_redis(lambda used: used.ping(), lambda: "from SQL") == "from SQL"
    assert breaker.open()
    with record() as seen:
        assert try_redis(lambda used: used.ping(), lambda: "from SQL") == "from SQL"
    assert seen.round_trips == 0


def test_work_waits_while_redis_is_away_and_other_errors_are_raised(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("shop")
    client().set("a key", "text")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        work_or_wait(lambda used: used.llen("a key"), 0, log, "It waits: %s")
    redis_server.kill()
    assert work_or_wait(lambda used: used.llen("a key"), 0, log, "It waits: %s") == 0
    assert [message[:10] for message in caplog.messages] == ["It waits: "]
