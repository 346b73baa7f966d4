"""What the mirror's tests share."""

from collections.abc import Iterator

import pytest

from mirror import registry, signals


@pytest.fixture
def own_registry() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    mirrors, refused = dict(registry._mirrors), list(registry._refused)
    yield
    registry._mirrors.clear()
    registry._mirrors.update(mirrors)
    registry._refused[:] = refused
    signals.connect()
