"""A load generator that requests one page over several persistent connections."""

import selectors
import socket
from typing import Final

CONNECTIONS: Final = 8


class _Visitor:
    """One connection, which sends the next request as soon as the response is complete."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request, self.got, self.left = request, b"", 0

    def request_page(self) -> None:
        """Send the request."""
        self.got, self.left = b"", -1
        self.socket.sendall(self.request)

    def receive(self) -> bool:
        """Read available bytes and return whether the response is complete. Raises ConnectionError on failure."""
        found = self.socket.recv(65536)
        if not found:
            raise ConnectionError("the server has hung up")
        if self.left < 0:
            self.got += found
            head, end, body = self.got.partition(b"\r\n\r\n")
            if not end:
                return False
            if not head.startswith(b"HTTP/1.1 200"):
                raise ConnectionError(head.decode())
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
            self.left = int(length) - len(body)
        else:
            self.left -= len(found)
        return self.left == 0


def request_page(port: int, path: str, times: int, headers: dict[str, str]) -> None:
    """Request ``path`` ``times`` times and wait for all responses."""
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    request = "\r\n".join([*lines, "", ""]).encode()
    visitors = [_Visitor(port, request) for _ in range(CONNECTIONS)]
    selector, left, open_ = selectors.DefaultSelector(), times, 0
    for visitor in visitors:
        selector.register(visitor.socket, selectors.EVENT_READ, visitor)
        visitor.request_page()
        open_, left = open_ + 1, left - 1
    while open_:
        for key, _ in selector.select():
            visitor = key.data
            if visitor.receive():
                open_ -= 1
                if left > 0:
                    visitor.request_page()
                    open_, left = open_ + 1, left - 1
    selector.close()
    for visitor in visitors:
        visitor.socket.close()
