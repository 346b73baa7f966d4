"""Having the catalogue in Redis, and in the process."""

from collections.abc import Iterator

import pytest

from catalog.index import copy
from mirror.rebuild import rebuild
from mirror.relay import drain_all


def warm_up() -> None:
    """Bring everything up to date: Redis, and this process's copy."""
    drain_all()
    rebuild(["book", "tag"])
    assert copy.ensure_loaded()


@pytest.fixture
def own_copy() -> Iterator[None]:
    """The process's copy starts unloaded, and its thread is not left behind."""
    copy.forget()
    yield
    copy.forget()
