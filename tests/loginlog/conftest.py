"""Fixtures of the tests of the login log."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings


@pytest.fixture(autouse=True)
def log_files_of_the_test(settings: Settings, tmp_path: Path) -> None:
    """Give each test its own folder for log files."""
    settings.LOGINLOG_FOLDER = tmp_path / "loginlog"
