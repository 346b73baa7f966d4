"""The entry point that the web server loads: it passes each request to the WSGI application, in a thread of a pool.

The interface RSGI of granian keeps the names of headers as they were sent. Its WSGI interface does not: there
``X_Forwarded_For`` replaces ``X-Forwarded-For``, the header of a trusted proxy. Here names with underscores are
dropped. A body is read before a thread is taken, so that slow senders occupy none. A check in the application could
not tell the names apart, and a2wsgi behind ASGI reads bodies in the thread.
"""

import asyncio
import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from io import BytesIO
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

from django.conf import settings
from granian.rsgi import HTTPProtocol, Scope  # type: ignore[attr-defined]  # granian does not export the first one

from config.wsgi import application as wsgi_application

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

# WSGI has other names for these headers. They occur once.
CONTENT_HEADERS: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}
COMMON_ENVIRON: Final[Environ] = {
    "SCRIPT_NAME": "",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}


class BodyRefused(Exception):
    """The body of a request is too long, too slow or incomplete."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status


class Job(NamedTuple):
    """A request for a thread. done: a future of ``loop``, which waits for the end."""

    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]
    scope: Scope
    protocol: HTTPProtocol
    body: bytes


class Gateway:
    """An RSGI application that runs a WSGI application in ``threads`` threads.

    A ThreadPoolExecutor would take 0.3 ms of processor time for each request instead of 0.2.
    """

    def __init__(self, application: Application, threads: int) -> None:
        self._application = application
        self._jobs = SimpleQueue[Job]()
        for number in range(threads):
            threading.Thread(target=self._work, name=f"request-{number}", daemon=True).start()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answer a request. It ends after the work that follows the response."""
        try:
            body = await read_body(scope, protocol)
        except BodyRefused as refused:
            protocol.response_str(refused.status, [], f"{refused.status.phrase}\n")
            return
        loop = asyncio.get_running_loop()
        job = Job(loop, loop.create_future(), scope, protocol, body)
        self._jobs.put(job)
        await job.done

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                self._answer(job)
            except BaseException as error:  # granian logs it, and answers 500
                job.loop.call_soon_threadsafe(_end, job.done, error)
            else:
                job.loop.call_soon_threadsafe(_end, job.done, None)

    def _answer(self, job: Job) -> None:
        started: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            started[:] = int(status.partition(" ")[0]), headers

        response = self._application(build_environ(job.scope, job.body), start)
        try:
            chunks = iter(response)
            status, headers = started
            if _is_stream(response, headers):
                _stream(job, status, headers, chunks)
            else:
                job.protocol.response_bytes(status, headers, b"".join(chunks))
        finally:
            if close := getattr(response, "close", None):
                close()


def _end(done: asyncio.Future[None], error: BaseException | None) -> None:
    if done.done():  # cancelled, because the visitor is gone
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


async def read_body(scope: Scope, protocol: HTTPProtocol) -> bytes:
    """Return the body of a request. Raises BodyRefused beyond the limits of bytes and REQUEST_BODY_SECONDS."""
    length = scope.headers.get("content-length")
    if length is None and "transfer-encoding" not in scope.headers and scope.http_version.startswith("1"):
        return b""
    has_file = scope.path in settings.UPLOAD_PATHS or scope.path.startswith(settings.UPLOAD_FOLDERS)
    most = settings.UPLOAD_BODY_BYTES if has_file else settings.REQUEST_BODY_BYTES
    if int(length or 0) > most:
        raise BodyRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    try:
        async with asyncio.timeout(settings.REQUEST_BODY_SECONDS):
            body = await _collect(protocol, most)
    except TimeoutError:
        raise BodyRefused(HTTPStatus.REQUEST_TIMEOUT) from None
    # granian does not tell the end of a body from a lost connection.
    if length is not None and len(body) != int(length):
        raise BodyRefused(HTTPStatus.BAD_REQUEST)
    return body


async def _collect(protocol: HTTPProtocol, most: int) -> bytes:
    chunks, size = [], 0
    async for chunk in protocol:
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise BodyRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return b"".join(chunks)


def build_environ(scope: Scope, body: bytes) -> Environ:
    """Return the environment of WSGI. Variables of the process are not part of it."""
    host, port = _split_address(scope.server)
    environ = COMMON_ENVIRON | {
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "REMOTE_ADDR": _split_address(scope.client)[0],
        "HTTP_HOST": scope.authority or "",
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": BytesIO(body),
    }
    environ.update(collect_headers(scope.headers.items()))
    return environ


def collect_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the variables of WSGI for headers in lower case; equal ones are joined as HTTP prescribes.

    Names with underscores are dropped, as by nginx: in WSGI they have the names of others (CVE-2015-0219).
    """
    found: dict[str, str] = {}
    for name, value in headers:
        if "_" in name:
            continue
        if name in CONTENT_HEADERS:
            found.setdefault(CONTENT_HEADERS[name], value)
            continue
        variable = f"HTTP_{name.upper().replace('-', '_')}"
        separator = "; " if name == "cookie" else ","
        found[variable] = f"{found[variable]}{separator}{value}" if variable in found else value
    return found


def _split_address(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port


def _is_stream(response: Iterable[bytes], headers: list[tuple[str, str]]) -> bool:
    """Return whether a response may be long: its length is unknown, and it is generated."""
    return getattr(response, "streaming", True) and not any(name.lower() == "content-length" for name, _ in headers)


def _stream(job: Job, status: int, headers: list[tuple[str, str]], chunks: Iterator[bytes]) -> None:
    """Send chunks as they are generated. Raises an error of granian when the visitor is gone."""
    transport = job.protocol.response_stream(status, headers)

    async def send(chunk: bytes) -> None:
        await transport.send_bytes(chunk)

    for chunk in chunks:
        asyncio.run_coroutine_threadsafe(send(chunk), job.loop).result()


# A full collection examines all objects, which stops a worker for 0.2 s. Nearly all belong to modules, and stay.
gc.freeze()
application = Gateway(wsgi_application, settings.WEB_THREADS)
