"""A fixture for pytest: ``pytest_plugins = ["mirror.testing.plugin"]`` in the project's ``conftest.py``."""

from collections.abc import Iterator

import pytest

from mirror.testing import Drain, own_mirrors
from mirror.testing import drain_mirrors as drain


@pytest.fixture
def drain_mirrors(db: None) -> Iterator[Drain]:
    """Begin with empty mirrors. Yield a function that applies all pending changes, also in the test's transaction."""
    with own_mirrors():
        yield drain
