"""Whether this request has to be answered by SQL, because it has to see a write not yet in Redis."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_wanted: ContextVar[bool] = ContextVar("sql_only", default=False)


def wanted() -> bool:
    """Whether reads leave Redis alone here."""
    return _wanted.get()


@contextmanager
def sql_only() -> Generator[None, None, None]:
    """Answer every mirrored read in the block from SQL."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)
