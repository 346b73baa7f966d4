"""A flag for requests that SQL must answer, because they must see a write that Redis does not have yet."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_wanted: ContextVar[bool] = ContextVar("sql_only", default=False)
_in_request: ContextVar[bool] = ContextVar("in_request", default=False)


def wanted() -> bool:
    """Return whether reads must avoid Redis in this context."""
    return _wanted.get()


@contextmanager
def sql_only() -> Generator[None, None, None]:
    """Let SQL answer every mirrored read in the block."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


@contextmanager
def request(*, wanted: bool) -> Generator[None, None, None]:
    """Mark the block as a request, which SQL answers if ``wanted``, or from the first write that Redis lacks."""
    tokens = _in_request.set(True), _wanted.set(wanted or _wanted.get())
    try:
        yield
    finally:
        _in_request.reset(tokens[0])
        _wanted.reset(tokens[1])


def in_request() -> bool:
    """Return whether the middleware of this request drains afterwards what is left."""
    return _in_request.get()


def prefer() -> None:
    """Let SQL answer the rest of this request, if there is one."""
    if _in_request.get():
        _wanted.set(True)
