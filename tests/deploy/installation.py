"""The services of `deploy/compose.yaml` as processes of this machine, without containers.

Commands and configuration files are those of `deploy/`. Only ports, hosts and paths are replaced.
"""

import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPSHandler, Request, build_opener

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.deploy.certificates import make_certificates
from tests.support.deploy import files
from tests.support.servers import PATIENCE_SECONDS, die_with_parent, free_port, wait_until
from tests.support.stack import Site, copy_of_the_site

REDIS: Final = ("state", "cache", "broker")
WEB: Final = ("web-1", "web-2")
TASKS: Final = ("relay", "fanout", "worker", "beat")


class Installation:
    """A copy of the site with the services of the compose file, which start one by one."""

    def __init__(self, site: Site, database_url: str) -> None:
        self.folder, self.services = site.folder, files.read_services()
        self.work = site.folder.parent / "work"
        self.work.mkdir()
        make_certificates(self.work, "redis", "site")
        (self.work / "users.acl").write_text(
            (files.DEPLOY / "redis/users.acl.example").read_text().replace("PASSWORD", files.PASSWORD)
        )
        self.ports = {name: free_port() for name in (*REDIS, *WEB, "http", "https")}
        self.environment = self._build_environment(database_url)
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def _build_environment(self, database_url: str) -> dict[str, str]:
        given = files.read_environment() | {"DATABASE_URL": database_url, "EMAIL_URL": "consolemail://"}
        given["SITE_URL"] = f"https://localhost:{self.ports['https']}"
        given = {name: self._place(value) for name, value in given.items()}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {
            "PATH": path,
            "HOME": str(self.work),
            "DEBUG": "False",
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",
            **given,
        }

    def _place(self, text: str) -> str:
        """Return a text of `deploy/` with the paths and ports of this machine."""
        for name in REDIS:
            text = text.replace(f"@{name}:6379", f"@127.0.0.1:{self.ports[name]}")
        for name in WEB:
            text = text.replace(f"{name}:8000", f"127.0.0.1:{self.ports[name]}")
        return text.replace(files.CERTIFICATES, str(self.work)).replace("/etc/diptych", str(self.work))

    def command(self, service: str) -> list[str]:
        """Return the command of a service, on this machine."""
        if service == "proxy":
            return ["nginx", "-p", str(self.work), "-c", str(self._write_nginx()), "-e", "stderr"]
        command = shlex.split(self.services[service]["command"])
        if service in REDIS:
            return [_find_redis(), str(self._write_redis(service))]
        return [str(self.ports[service]) if word == "8000" else word for word in command]

    def _write_redis(self, service: str) -> Path:
        text = self._place((files.DEPLOY / f"redis/{service}.conf").read_text())
        data = self.work / service
        data.mkdir(exist_ok=True)
        text = text.replace("tls-port 6379", f"tls-port {self.ports[service]}").replace("dir /data", f"dir {data}")
        (data / "redis.conf").write_text(text)
        return data / "redis.conf"

    def _write_nginx(self) -> Path:
        text = self._place((files.DEPLOY / "nginx.conf").read_text())
        text = text.replace("listen 80;", f"listen {self.ports['http']};")
        text = text.replace("listen 443 ssl;", f"listen {self.ports['https']} ssl;")
        if _read_nginx_version() < (1, 25, 1):  # it has another spelling
            text = text.replace(" ssl;\n        http2 on;", " ssl http2;")
        folders = "".join(
            f"{name}_temp_path {self.work}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        own = f"daemon off;\nuser {_user()};\npid {self.work}/nginx.pid;\n"
        text = own + re.sub(r"http \{", f"http {{\naccess_log off;\n{folders}", text, count=1)
        (self.work / "nginx.conf").write_text(text)
        return self.work / "nginx.conf"

    def run(self, command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell command in the folder of the site, with its environment."""
        ended = subprocess.run(
            command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        assert not check or ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended

    def start(self, *services: str) -> None:
        """Start services, and wait until the servers among them answer."""
        for service in services:
            with (self.work / f"{service}.log").open("ab") as log:
                self.children[service] = subprocess.Popen(
                    self.command(service), cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=subprocess.STDOUT, preexec_fn=die_with_parent(signal.SIGKILL),
                    start_new_session=True,
                )  # fmt: skip
        for service in services:
            wait_until(lambda service=service: self.is_up(service), f"the start of {service}")  # type: ignore[misc]

    def is_up(self, service: str) -> bool:
        """Return whether a service answers. Raises AssertionError with its log if it has ended."""
        assert self.children[service].poll() is None, self.read_log(service)
        if service in REDIS:
            try:
                return bool(self.redis(service).ping())
            except RedisConnectionError:
                return False
        if service in WEB:
            return Visitor(f"http://127.0.0.1:{self.ports[service]}", self.work).status("/healthz") == 200
        return service != "proxy" or self.visitor().status("/healthz") != 0

    def stop(self, service: str) -> int:
        """Stop a service as the container engine does, and return its exit code when it has ended."""
        child = self.children.pop(service)
        child.terminate()
        return child.wait(PATIENCE_SECONDS)

    def is_healthy(self, service: str) -> bool:
        """Run the health check of a service, as the container engine does, and return whether it passes."""
        kind, *words = self.services[service]["healthcheck"]["test"]
        command = words[0].replace("$$", "$") if kind == "CMD-SHELL" else shlex.join(words)
        client = f"{_find_redis().removesuffix('server')}cli -p {self.ports.get(service)}"
        command = self._place(command).replace("redis-cli", client)
        command = command.replace("https://localhost/", f"{self.environment['SITE_URL']}/")
        given = self.services[service].get("environment", {}) | {"HOSTNAME": socket.gethostname()}
        export = shlex.join(f"{name}={value}" for name, value in given.items())
        return self.run(f"export {export}; {command}", check=False).returncode == 0

    def read_log(self, service: str) -> str:
        log = self.work / f"{service}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def redis(self, service: str) -> Redis:
        """Return a client of a Redis with the rights of the site."""
        variable = {"state": "REDIS_URL", "cache": "CACHE_URL", "broker": "CELERY_BROKER_URL"}[service]
        return Redis.from_url(self.environment[variable])

    def admin(self, service: str) -> Redis:
        """Return a client of a Redis with all rights."""
        url = files.read_environment()["REDIS_URL"].replace("//site:", "//admin:").replace("@state:", f"@{service}:")
        return Redis.from_url(self._place(url))

    def list_denied(self, service: str) -> list[str]:
        """Return the commands that a Redis has denied to the site."""
        with self.admin(service) as client:
            return [f"{entry['username']}: {entry['object']}" for entry in client.acl_log()]

    def visitor(self) -> "Visitor":
        """Return a new visitor, who reaches the site through the proxy."""
        return Visitor(self.environment["SITE_URL"], self.work)

    def close(self) -> None:
        """Kill all processes, and print their logs, which pytest shows after a failure."""
        for child in self.children.values():
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        for log in sorted(self.work.glob("*.log")):
            print(f"--- {log.stem}", log.read_text(errors="replace")[-3000:], sep="\n")


class Visitor:
    """A browser."""

    def __init__(self, address: str, certificates: Path) -> None:
        self.address, self.cookies = address, CookieJar()
        context = ssl.create_default_context(cafile=str(certificates / "redis-ca.crt"))
        self._opener = build_opener(HTTPCookieProcessor(self.cookies), HTTPSHandler(context=context))

    def fetch(self, path: str, form: dict[str, str] | None = None) -> str:
        """Return the page after redirects. Raises HTTPError."""
        headers = {"Referer": f"{self.address}{path}"}
        data = urlencode(form).encode() if form is not None else None
        with self._opener.open(Request(self.address + path, data, headers), timeout=PATIENCE_SECONDS) as response:
            return str(response.read(), "utf-8")

    def submit(self, page: str, form: dict[str, str], path: str = "") -> str:
        """Fill in the form of a page and send it, to another path if given. Return the next page."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.fetch(page))
        assert token, page
        return self.fetch(path or page, {"csrfmiddlewaretoken": token[1], **form})

    def status(self, path: str) -> int:
        """Return the status of a page, or 0 without an answer."""
        try:
            self.fetch(path)
        except HTTPError as error:
            return error.code
        except (URLError, OSError, HTTPException):
            return 0
        return 200


def _read_nginx_version() -> tuple[int, ...]:
    ended = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True)
    (version,) = re.findall(r"nginx/([\d.]+)", ended.stderr)
    return tuple(map(int, version.split(".")))


def _find_redis() -> str:
    """Return the system's Redis, because that of the wheel was built without TLS. Raises RuntimeError."""
    own = str(Path(sys.executable).parent)
    places = [place for place in os.environ.get("PATH", os.defpath).split(os.pathsep) if place != own]
    path = os.pathsep.join(places)
    found = shutil.which("redis-server", path=path) or shutil.which("valkey-server", path=path)
    if found is None:
        raise RuntimeError("redis-server is not installed: see .ci/packages")
    return found


def _user() -> str:
    """Return the user of nginx's worker, who must read the folder of this test."""
    return pwd.getpwuid(os.geteuid()).pw_name


@contextmanager
def install(database_url: str) -> Iterator[Installation]:
    """Yield a copy of the site with nothing started. Afterwards all processes are killed."""
    if shutil.which("nginx") is None:
        raise RuntimeError("nginx is not installed: see .ci/packages")
    with copy_of_the_site() as site:
        made = Installation(site, database_url)
        try:
            yield made
        finally:
            made.close()
