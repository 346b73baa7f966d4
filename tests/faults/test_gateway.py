"""The web server's process: names of headers that visitors forge, slow and long bodies, and streams."""

import socket
from collections.abc import Callable, Mapping
from http.client import HTTPConnection

import orjson
import pytest

from accounts.lockout.models import FailedLogins
from accounts.models import User
from config.rsgi import collect_headers
from tests.support.faults.crew import Crew
from tests.support.faults.web import Web
from tests.support.servers import PATIENCE_SECONDS

LOGIN, DOWNLOAD, PASSWORD = "/accounts/login/", "/accounts/download/", "a quiet bookshop"
CSRF = "c" * 32
VISITOR, FORGED = "203.0.113.7", "127.0.0.1"  # the address that the proxy saw; one that may read /metrics
FORGERIES: list[Callable[[str], dict[str, str]]] = [
    lambda forged: {"X-Forwarded-For": VISITOR, "X_Forwarded_For": forged},
    lambda forged: {"X_Forwarded_For": forged, "X-Forwarded-For": VISITOR},
    lambda forged: {"X-Forwarded-For": VISITOR, "x-forwarded_for": forged},
]


def connect(web: Web) -> HTTPConnection:
    return HTTPConnection(web.address.removeprefix("http://"), timeout=PATIENCE_SECONDS)


def ask(web: Web, path: str, headers: Mapping[str, str], body: str | None = None) -> int:
    """Return the status of a request whose headers are sent in this spelling and order."""
    connection = connect(web)
    connection.request("POST" if body else "GET", path, body, dict(headers))
    status = connection.getresponse().status
    connection.close()
    return status


def begin_request(web: Web, length: int = 100_000) -> socket.socket:
    """Open a connection that sends the first byte of a body, and no more."""
    connection = connect(web)
    connection.connect()
    head = f"POST {LOGIN} HTTP/1.1\r\nHost: localhost\r\nCookie: csrftoken={CSRF}\r\nContent-Length: {length}\r\n\r\nx"
    assert isinstance(connection.sock, socket.socket)
    connection.sock.sendall(head.encode())
    return connection.sock


@pytest.fixture
def web(transactional_db: None, crew: Crew) -> Web:
    """Start a site behind one proxy."""
    crew.environment["PROXY_COUNT"] = "1"
    return Web(crew)


def test_header_names_with_underscores_change_no_address(web: Web) -> None:
    User.objects.create_user("alice", password=PASSWORD)
    for forge in FORGERIES:
        assert ask(web, "/metrics", forge(FORGED)) == 403
    form = f"username=alice&password=wrong&csrfmiddlewaretoken={CSRF}"
    common = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={CSRF}"}
    answers = [
        ask(web, LOGIN, common | FORGERIES[number % len(FORGERIES)](f"198.51.100.{number}"), form)
        for number in range(6)
    ]
    assert answers == [200] * 5 + [429]
    assert FailedLogins.objects.get(kind="pair", name="alice").count == 5


def test_slow_bodies_occupy_no_thread(web: Web) -> None:
    senders = [begin_request(web) for _ in range(10)]  # the process has four threads
    assert web.fetch("/healthz") == "ok\n"
    for sender in senders:
        sender.close()


def test_slow_and_long_bodies_are_refused(transactional_db: None, crew: Crew) -> None:
    crew.environment["REQUEST_BODY_SECONDS"] = "0.1"
    web = Web(crew)
    for length, status in ((100_000, b"408"), (4_000_000, b"413")):
        with begin_request(web, length) as sender:
            assert sender.recv(100).startswith(b"HTTP/1.1 " + status)
    chunked = {"Content-Type": "application/x-www-form-urlencoded", "Transfer-Encoding": "chunked"}
    assert ask(web, LOGIN, chunked, "0\r\n\r\n") == 403  # read to its end, and without a token


def test_downloads_are_streamed_completely(web: Web) -> None:
    alice = User.objects.create_user("alice", password=PASSWORD)
    for path in (LOGIN, DOWNLOAD):
        token = web.fetch(path).partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        answer = web.fetch(path, {"username": "alice", "password": PASSWORD, "csrfmiddlewaretoken": token})
    assert str(alice.pk) in str(orjson.loads(answer))


def test_equal_headers_are_joined_and_names_with_underscores_dropped() -> None:
    given = [
        ("content-type", "text/plain"), ("content_type", "text/html"), ("content-length", "5"), ("content_length", "0"),
        ("cookie", "a=1"), ("cookie", "b=2"), ("accept", "text/html"), ("accept", "text/plain"),
        ("x-forwarded-proto", "http"), ("x_forwarded_proto", "https"), ("x-forwarded_for", "127.0.0.1"),
    ]  # fmt: skip
    assert collect_headers(given) == {
        "CONTENT_TYPE": "text/plain", "CONTENT_LENGTH": "5", "HTTP_COOKIE": "a=1; b=2",
        "HTTP_ACCEPT": "text/html,text/plain", "HTTP_X_FORWARDED_PROTO": "http",
    }  # fmt: skip
