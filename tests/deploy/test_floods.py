"""The shipped proxy refuses floods of one address. No web server runs, so other requests are answered with 502."""

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Final

import pytest

from tests.deploy.installation import Installation, install

pytestmark = pytest.mark.real
BURST: Final = 300
MAX_CONNECTIONS: Final = 100
MANY: Final = 20_000  # requests, which nginx answers in far less time than their number at the permitted rate takes


@pytest.fixture
def proxy() -> Iterator[Installation]:
    with install("sqlite://") as made:
        made.start("proxy")
        yield made


@contextmanager
def connect(proxy: Installation, source: str = "127.0.0.1") -> Iterator[http.client.HTTPSConnection]:
    context = ssl.create_default_context(cafile=str(proxy.work / "redis-ca.crt"))
    address = ("localhost", proxy.ports["https"])
    with closing(http.client.HTTPSConnection(*address, context=context, source_address=(source, 0))) as connection:
        yield connection


def ask(proxy: Installation, source: str = "127.0.0.1") -> int:
    """Return the status of one request on a connection of its own."""
    with connect(proxy, source) as connection:
        connection.request("GET", "/books/")
        return connection.getresponse().status


def test_a_flood_of_one_address_is_refused_after_a_burst(proxy: Installation) -> None:
    passed = 0
    with connect(proxy) as connection:
        for _ in range(MANY):
            connection.request("GET", "/books/")
            response = connection.getresponse()
            text = response.read().decode()
            if response.status == 429:
                break
            assert response.status == 502
            passed += 1
    assert passed >= BURST
    assert (response.status, response.headers["Retry-After"]) == (429, "10")
    assert response.headers["Cache-Control"] == "no-store"
    assert "Too many requests" in text
    assert ask(proxy, "127.0.0.2") == 502


def test_connections_of_one_address_are_limited(proxy: Installation) -> None:
    context = ssl.create_default_context(cafile=str(proxy.work / "redis-ca.crt"))
    head = b"POST /posts/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with ExitStack() as opened:
        for _ in range(MAX_CONNECTIONS):
            plain = socket.create_connection(("127.0.0.1", proxy.ports["https"]))
            slow = opened.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            slow.sendall(head)
        assert ask(proxy) == 429
        assert ask(proxy, "127.0.0.2") == 502
