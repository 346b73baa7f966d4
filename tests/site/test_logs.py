"""Log lines cannot be forged, have no secrets, and name the request, also in its tasks."""

import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import orjson
import pytest
from celery.worker.request import Request
from django.conf import settings as site
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils.log import configure_logging
from structlog.contextvars import clear_contextvars
from structlog.stdlib import ProcessorFormatter

from accounts.models import User
from common.logs import build_formatter, redact
from common.middleware.request_id import RequestIdMiddleware
from config.celery import app
from mirror.relay import send
from tests.support.servers import RedisServer

FORGED: Final = "x\r\n2026-01-01T00:00:00Z INFO forged: line\x1b[2J\x85\u2028\u202e"
GIVEN: Final = "0a1b2c3d-REQUEST_id"
KEY: Final = "k3" + "Abcdefg_" * 5
ADDRESS: Final = "192.0.2.77"
PASSWORD: Final = "a password that nobody knows"


class Log:
    """The lines that the site writes, in one of its formats."""

    def __init__(self, kind: str) -> None:
        self.stream = io.StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(build_formatter(kind))

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of the format "json"."""
        return [orjson.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    found, root = Log(getattr(request, "param", "json")), logging.getLogger()
    root.addHandler(found.handler)
    clear_contextvars()
    yield found
    clear_contextvars()
    root.removeHandler(found.handler)


@app.task(name="tests.write_line")
def write_line(text: str) -> None:
    logging.getLogger("shop").warning("The task says %s", text)


@pytest.mark.parametrize("log", ["text"], indirect=True)
def test_control_characters_are_escaped_in_text(log: Log) -> None:
    logging.getLogger("test").error("Not found: %s", FORGED)
    [line] = log.text.splitlines()
    forged = r"x\r\n2026-01-01T00:00:00Z INFO forged: line\x1b[2J\x85\u2028\u202e"
    assert line.endswith(f"Z ERROR test: Not found: {forged}")


@pytest.mark.parametrize("log", ["text"], indirect=True)
def test_lines_of_an_exception_are_indented(log: Log) -> None:
    logging.getLogger("test").error("Failed", exc_info=ValueError(FORGED))
    first, *others = log.text.split("\n")[:-1]
    assert first.endswith("ERROR test: Failed")
    assert all(text.startswith("    ") for text in others)
    assert r"forged: line\x1b[2J" in others[-1]


def test_an_event_is_one_line_of_json(log: Log) -> None:
    logging.getLogger("test").error("Failed: %s", FORGED, exc_info=ValueError(FORGED))
    [event] = log.events
    assert (event["level"], event["logger"], event["event"]) == ("error", "test", f"Failed: {FORGED}")
    assert event["exception"].endswith(f"ValueError: {FORGED}")
    assert log.text.isascii()


def test_site_logs_with_the_format_of_its_settings() -> None:
    configure_logging(site.LOGGING_CONFIG, site.LOGGING)
    handler = next(h for h in logging.getLogger().handlers if getattr(h, "stream", None) is sys.stderr)
    assert isinstance(handler.formatter, ProcessorFormatter)


@pytest.mark.django_db
@pytest.mark.parametrize("log", ["text", "json"], indirect=True)
def test_newline_in_a_path_or_a_name_begins_no_line(log: Log) -> None:
    client = Client()
    client.get("/u/alice%0D%0A2026-01-01T00:00:00Z%20INFO%20forged:%20line/")
    client.post("/accounts/login/", {"username": FORGED, "password": PASSWORD})
    assert "forged" in log.text
    assert not [line for line in log.text.splitlines() if line.startswith("2026-01-01")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Key (email)=(alice.b+c@mail.example.org) exists", "Key (email)=([email]) exists"),
        ("/reset/?for=alice%40example.org", "/reset/?for=[email]"),
        ("/accounts/reset/MQ/d1xyz0-0123456789abcdef0123456789abcdef/", "/accounts/reset/MQ/[secret]/"),
        (f"GET recent:{KEY} failed", "GET recent:[secret] failed"),
        ("Task shop.tasks.settle[4a1d3f6e-93a1-4b1e-8d0a-5b6f0c7d8e9f] raised", None),
        ("test_a_long_name_of_a_function_in_a_traceback", None),
        ("connecting to unix:///tmp/diptych-0a1b2c3d4e5f/redis.sock", None),
    ],
)
def test_emails_and_long_tokens_are_redacted(text: str, expected: str | None) -> None:
    assert redact(text) == (text if expected is None else expected)


@pytest.mark.django_db
@pytest.mark.parametrize("is_away", [False, True])
def test_wrong_password_leaves_nothing_secret_in_the_log(
    is_away: bool, redis_server: RedisServer, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User.objects.create_user("alice", "alice@example.org", "a quiet bookshop")
    client, other = Client(REMOTE_ADDR=ADDRESS, raise_request_exception=False), Client()
    other.force_login(user)
    key = other.cookies[site.SESSION_COOKIE_NAME].value
    if is_away:
        redis_server.kill()
    client.post("/accounts/login/", {"username": user.email, "password": PASSWORD})
    Client(REMOTE_ADDR=ADDRESS, enforce_csrf_checks=True).post(
        f"/accounts/login/?email={user.email}", {"username": user.email, "password": PASSWORD}
    )

    def fail(*args: object, **kwargs: object) -> None:
        raise ValueError(f"{user.email} {key}")

    monkeypatch.setattr("accounts.lockout.backend.Backend.authenticate", fail)
    assert client.post("/accounts/login/", {"username": user.email, "password": PASSWORD}).status_code == 500
    assert "ValueError: [email] [secret]" in log.text
    assert "CSRF" in log.text
    assert not [secret for secret in (user.email, key, PASSWORD, ADDRESS) if secret in log.text]


def get_id(**headers: str) -> str:
    return str(Client(headers=headers).get("/healthz").headers["X-Request-ID"])


def test_only_harmless_ids_of_requests_are_accepted() -> None:
    assert get_id(**{"x-request-id": GIVEN}) == GIVEN
    assert len(get_id()) == 32
    assert get_id() != get_id()
    for given in ("short", "a" * 65, "a b c d e f", f"{GIVEN}\n", "../../etc/passwd", "ééééééééé", '{"a": "b"}', ""):
        assert len(get_id(**{"x-request-id": given})) == 32


@pytest.mark.django_db
def test_lines_name_their_request(log: Log) -> None:
    Client(headers={"x-request-id": GIVEN}).get("/no/such/page/")
    made = Client().get("/no/such/page/").headers["X-Request-ID"]
    assert [event["request_id"] for event in log.events] == [GIVEN, made]


@pytest.mark.django_db(transaction=True)
@pytest.mark.only_on("sqlite")
def test_id_of_a_request_follows_into_its_task(log: Log, redis: object) -> None:
    def view(request: object) -> HttpResponse:
        assert send.task("tests.write_line", args=["hello"], queue="default")
        return HttpResponse()

    RequestIdMiddleware(view)(RequestFactory().get("/", HTTP_X_REQUEST_ID=GIVEN))
    clear_contextvars()
    assert send.task("tests.write_line", args=["no request"], queue="default")
    with app.connection_for_read() as connection:
        queue = connection.SimpleQueue("default")
        for _ in range(2):
            Request(queue.get(block=False), app=app).execute()
    first, second = (event for event in log.events if event["logger"] == "shop")
    assert (first["request_id"], first["task"]) == (GIVEN, "tests.write_line")
    assert "request_id" not in second


@pytest.mark.django_db
def test_refused_requests_are_logged_without_a_traceback(log: Log) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("alice"))
    assert client.get("/loginlog/report/").status_code == 403
    assert client.get("/healthz", headers={"host": "no such host"}).status_code == 400
    assert {event["level"] for event in log.events} == {"warning", "error"}
    assert not [event for event in log.events if "exception" in event]


def test_warnings_of_a_worker_are_log_lines() -> None:
    """Celery warns of a worker of root before it configures logging."""
    imports = "import os; from celery.apps.worker import Worker; from config.celery import app"
    code = f"{imports}; os.getuid = lambda: 0; Worker(app)"
    environment = {**os.environ, "LOG_FORMAT": "json", "DEBUG": "True", "DJANGO_SETTINGS_MODULE": "config.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=site.BASE_DIR, capture_output=True, text=True, check=True
    )
    [event] = map(orjson.loads, ended.stderr.splitlines())
    assert (event["level"], event["logger"]) == ("warning", "py.warnings")
    assert "superuser privileges" in event["event"]
