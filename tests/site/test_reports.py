"""Errors are reported to Sentry without personal data."""

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

import brotli  # type: ignore[import-untyped]
import orjson
import pytest
from django.conf import settings as site

DECODERS: Final = {None: bytes, "gzip": gzip.decompress, "br": brotli.decompress}
KEY: Final = "k3" + "Abcdefg_" * 5
SECRETS: Final = ("alice@example.org", KEY, "a quiet bookshop", "192.0.2.77", "Firefox/99", "looked-for")
FAIL: Final = """
import logging
import sys
import types
from django.core.wsgi import get_wsgi_application
from django.test import RequestFactory, override_settings
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

application = get_wsgi_application()
email, key, password, address, browser, query = sys.argv[1:]

@csrf_exempt
def fail(request, name):
    local = password
    logging.getLogger("shop").info("%s", local)
    raise ValueError(f"{email} {key}")

urls = types.ModuleType("urls")
from config.urls import urlpatterns
urls.urlpatterns = [path("fail/<name>/", fail), *urlpatterns]
make = RequestFactory(REMOTE_ADDR=address)
headers = {"host": "localhost", "cookie": f"csrftoken={key}", "user-agent": browser, "x-request-id": "0123-abcd"}
headers["authorization"] = f"Bearer {key}"
with override_settings(ROOT_URLCONF=urls):
    for request in (
        make.get("/", headers={"host": "any.example"}),
        make.post(f"/fail/{email}/?q={query}", {"password": password, "email": email}, headers=headers),
    ):
        application(request.environ, lambda *args: None)
import sentry_sdk
sentry_sdk.flush()
"""


class Sink(HTTPServer):
    """A server that keeps the items of all envelopes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.items: list[Any] = []


class Receiver(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        decode = DECODERS[self.headers.get("Content-Encoding")]
        self.server.items += map(orjson.loads, decode(body).splitlines())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Write nothing."""


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_one_report_of_an_error_arrives_without_personal_data(sink: Sink) -> None:
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.support.settings",
        "SENTRY_DSN": f"http://public@127.0.0.1:{sink.server_port}/1",
    }
    command = [sys.executable, "-W", "ignore", "-c", FAIL, *SECRETS]
    done = subprocess.run(command, cwd=site.BASE_DIR, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [event] = [item for item in sink.items if "exception" in item or "logentry" in item]
    [error] = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("ValueError", "[email] [secret]")
    assert event["request"] == {"method": "POST", "url": "http://localhost/fail/[email]/"}
    assert event["tags"]["request_id"] == "0123-abcd"
    sent = orjson.dumps(sink.items).decode()
    assert not [secret for secret in SECRETS if secret in sent]
