"""A flag for requests that SQL must answer, because they must see a write that Redis does not have yet."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_wanted: ContextVar[bool] = ContextVar("sql_only", default=False)
_in_request: ContextVar[bool] = ContextVar("in_request", default=False)
_has_written: ContextVar[bool] = ContextVar("has_written", default=False)


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
def request(*, wanted: bool, has_written: bool = False) -> Generator[None, None, None]:
    """Mark the block as a request, which SQL answers if ``wanted``, or from the first write that Redis lacks.

    has_written: whether an earlier request of the visitor wrote to SQL lately.
    """
    tokens = _in_request.set(True), _wanted.set(wanted or _wanted.get()), _has_written.set(has_written)
    try:
        yield
    finally:
        for variable, token in zip((_in_request, _wanted, _has_written), tokens, strict=True):
            variable.reset(token)


def in_request() -> bool:
    """Return whether the middleware of this request drains afterwards what is left."""
    return _in_request.get()


def note_write() -> None:
    """Record that this request writes to SQL."""
    _has_written.set(True)


def has_written() -> bool:
    """Return whether this request, or an earlier one of its visitor, wrote to SQL lately."""
    return _has_written.get()


def prefer() -> None:
    """Let SQL answer the rest of this request, if there is one."""
    if _in_request.get():
        _wanted.set(True)
