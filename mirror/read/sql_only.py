"""A flag for requests that SQL must answer, because they must see a write that Redis does not have yet."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_wanted: ContextVar[bool] = ContextVar("sql_only", default=False)


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
