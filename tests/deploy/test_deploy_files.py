"""The commands in the files of `deploy/` are those of the Procfile, which other tests run."""

import re
import shlex
from typing import Any

import orjson
from django.conf import settings

from tests.support.deploy import files
from tests.support.deploy.installation import REDIS, TASKS, WEB


def test_compose_units_and_image_run_the_commands_of_the_procfile() -> None:
    services, procfile, units = files.read_services(), files.read_procfile(), files.read_units()
    for name in TASKS:
        assert shlex.split(services[name]["command"]) == procfile[name] == units[f"diptych-{name}"]
    for name in WEB:
        assert shlex.split(services[name]["command"]) == procfile["web"] == units["diptych-web@"]
    (command,) = files.read_dockerfile("CMD")
    assert orjson.loads(command) == procfile["web"]


def test_every_service_and_unit_is_run_by_a_test() -> None:
    """`test_deployment.py` starts these services; images of other projects need no test of ours."""
    known = {*REDIS, *WEB, *TASKS, "proxy", "migrate", "sql"}
    assert set(files.read_services()) == known
    assert set(files.read_units()) == {"diptych-web@", *(f"diptych-{name}" for name in TASKS)}
    target = (files.DEPLOY / "systemd/diptych.target").read_text()
    assert all(f"{unit.replace('@', '@8001')}.service" in target for unit in files.read_units())


def test_containers_and_units_grant_a_task_time_to_end() -> None:
    from config.defaults import celery

    seconds = 90
    services = files.read_services()
    assert all(services[name]["stop_grace_period"] == f"{seconds}s" for name in (*WEB, *TASKS))
    for path in (files.DEPLOY / "systemd").glob("*.service"):
        assert f"TimeoutStopSec={seconds}" in path.read_text()
    assert seconds < celery.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]


def test_connections_to_redis_fit_its_limit_also_during_a_rolling_restart() -> None:
    """The limit of each pool, times pools and processes, twice, because old and new processes overlap."""
    web = files.read_procfile()["web"]
    per_server = int(web[web.index("--workers") + 1])
    per_worker = [
        int(command[command.index("--concurrency") + 1]) + 1
        for name, command in files.read_procfile().items()
        if name in ("relay", "fanout", "worker")
    ]
    processes = len(WEB) * per_server + sum(per_worker) + 1
    assert processes == 14
    caches: Any = settings.CACHES
    options = [cache["OPTIONS"]["CONNECTION_POOL_KWARGS"]["max_connections"] for cache in caches.values()]
    assert set(options) == {settings.REDIS_CONNECTIONS}
    for server, pools in (("state", 2), ("cache", 1)):
        limit = int(files.read_redis_option(server, "maxclients"))
        assert 2 * processes * pools * settings.REDIS_CONNECTIONS <= limit


def test_each_redis_server_has_a_limit_of_memory() -> None:
    """Without one, the alert RedisMemory never comes, and the kernel ends the server instead."""
    assert {name: files.read_redis_option(name, "maxmemory-policy") for name in REDIS} == {
        "state": "noeviction",
        "broker": "noeviction",
        "cache": "allkeys-lfu",
    }
    assert all(re.fullmatch(r"[1-9]\d*[gm]b", files.read_redis_option(name, "maxmemory")) for name in REDIS)
