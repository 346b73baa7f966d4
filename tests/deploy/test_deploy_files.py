"""The commands in the files of `deploy/` are those of the Procfile, which other tests run."""

import re
import shlex
import shutil
import subprocess
from typing import Any

import orjson
from django.conf import settings

from tests.deploy.installation import REDIS, TASKS, WEB
from tests.support.deploy import files


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


def test_services_share_an_image_and_have_limits() -> None:
    services = files.read_services()
    assert {services[name]["image"] for name in (*WEB, *TASKS, "migrate")} == {"diptych"}
    assert [name for name, service in services.items() if "build" in service] == ["migrate"]
    for name, service in services.items():
        assert service["logging"]["options"]["max-size"] == "10m", name
        assert "mem_limit" in service, name
        # The image has a check of its own for web servers.
        assert name in (*WEB, "migrate") or "test" in service["healthcheck"], name
    for name in ("state", "cache", "broker"):
        limit, most = (
            _read_size(size) for size in (services[name]["mem_limit"], files.read_redis_option(name, "maxmemory"))
        )
        assert limit >= 2 * most, name


def _read_size(text: str) -> int:
    return int(re.sub(r"\D", "", text)) * {"m": 1, "g": 1024}[text.strip("0123456789b")]


def test_health_check_of_a_worker_asks_its_own_name() -> None:
    services = files.read_services()
    for name in ("relay", "fanout", "worker"):
        node = re.findall(r"--hostname (\w+)@", services[name]["command"]) or ["celery"]
        assert services[name]["environment"] == {"DIPTYCH_WORKER": node[0]}
        assert "--destination $$DIPTYCH_WORKER@$$HOSTNAME" in services[name]["healthcheck"]["test"][1]


def test_units_are_confined() -> None:
    """systemd rates the units, where it is installed; elsewhere they must at least be confined alike."""
    confined = set()
    for path in sorted((files.DEPLOY / "systemd").glob("*.service")):
        confined.add(path.read_text().partition("NoNewPrivileges=yes\n")[2].partition("\n\n")[0])
        if shutil.which("systemd-analyze"):
            command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=39", str(path)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stdout
    (lines,) = confined
    assert {"SystemCallFilter=@system-service", "CapabilityBoundingSet=", "RestrictNamespaces=yes"} <= {*lines.split()}


def test_units_wait_for_the_network_and_restart_without_a_limit() -> None:
    for path in sorted((files.DEPLOY / "systemd").glob("*.service")):
        lines = path.read_text().splitlines()
        assert {"Wants=network-online.target", "After=network-online.target", "StartLimitIntervalSec=0"} <= {*lines}


def test_proxy_hides_its_version_and_names_each_request() -> None:
    text = (files.DEPLOY / "nginx.conf").read_text()
    for directive in (
        "server_tokens off",
        "http2 on",
        "ssl_protocols TLSv1.2 TLSv1.3",
        "underscores_in_headers off",
        "proxy_set_header X-Request-ID $request_id",
    ):
        assert f"{directive};" in text
