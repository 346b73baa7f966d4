"""What tests of the login log find ready."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from loginlog import hooks, numbers
from loginlog.direct import owing


@pytest.fixture(autouse=True)
def forgetful(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """This process knows nothing of earlier tests, and what expires is written to a folder of the test's own."""
    settings.LOGINLOG_FOLDER = tmp_path / "loginlog"
    numbers.known.clear()
    hooks.recent.clear()
    owing.maybe = False
    yield
    numbers.known.clear()
    hooks.recent.clear()
    owing.maybe = False
