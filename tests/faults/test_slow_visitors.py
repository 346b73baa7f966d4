"""Slow visitors occupy no thread of the web server, and their connections end."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest

from accounts.models import User
from tests.support.deploy.files import read_procfile
from tests.support.faults.crew import Crew
from tests.support.servers import PATIENCE_SECONDS, free_port, wait_until

CONNECTIONS = 40  # the server has eight threads
CSRF = "c" * 32
PASSWORD = "a quiet bookshop"
BEGINNINGS = {
    "silent": b"",
    "headers": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "body": b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx",
    "chunks": b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
}
# Large answers: a static file, and many small pages at once. The visitor asks for them and reads nothing.
FILE = "/static/unfold/css/styles.css"
READERS = {
    "file": f"GET {FILE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    "pages": b"GET /accounts/register/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20,
}
Start = Callable[..., int]


@pytest.fixture
def start(transactional_db: None, crew: Crew) -> Start:
    """Start the site by the command of the Procfile."""

    def start_web(*options: str, **environment: str) -> int:
        port = free_port()
        command = [*read_procfile()["web"], "--port", str(port), *options]  # of equal options the last one counts
        crew.start("web", " ".join(command), **environment)
        wait_until(lambda: can_connect(port), "the start of the web server")
        return port

    return start_web


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Close the connections of slow visitors at the end."""
    with ExitStack() as opened:
        yield opened


def can_connect(port: int) -> bool:
    try:
        return ask(port, "GET", "/healthz") == 200
    except OSError:
        return False


def ask(port: int, method: str, path: str, body: str | None = None) -> int:
    """Return the status of a request of another visitor, however long it takes."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={CSRF}"}
    connection.request(method, path, body, kind)
    status = connection.getresponse().status
    connection.close()
    return status


def connect(port: int, beginning: bytes) -> socket.socket:
    """Connect as a slow visitor, who has room for a few bytes of the answer."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.settimeout(PATIENCE_SECONDS)
    opened.connect(("127.0.0.1", port))
    opened.sendall(beginning)
    return opened


@pytest.mark.parametrize("beginning", [*BEGINNINGS.values(), *READERS.values()], ids=[*BEGINNINGS, *READERS])
def test_slow_visitors_occupy_no_thread(start: Start, stack: ExitStack, beginning: bytes) -> None:
    User.objects.create_user("alice", password=PASSWORD)
    # None of the slow connections ends during the test.
    port = start("--http1-header-read-timeout", "60000", REQUEST_BODY_SECONDS=str(PATIENCE_SECONDS))
    slow = [stack.enter_context(connect(port, beginning)) for _ in range(CONNECTIONS)]
    form = f"username=alice&password={PASSWORD}&csrfmiddlewaretoken={CSRF}".replace(" ", "+")
    assert ask(port, "POST", "/accounts/login/", form) == 302
    assert ask(port, "GET", FILE) == 200
    assert len(slow) == CONNECTIONS


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=[*BEGINNINGS])
def test_connections_that_send_slowly_are_closed(start: Start, stack: ExitStack, beginning: bytes) -> None:
    port = start("--http1-header-read-timeout", "100", REQUEST_BODY_SECONDS="0.1")
    opened = stack.enter_context(connect(port, beginning))
    while opened.recv(65536):
        pass
