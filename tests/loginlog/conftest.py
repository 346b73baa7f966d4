"""Fixtures of the tests of the login log."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from loginlog import hooks
from loginlog.storage import dense_ids
from loginlog.storage.direct import owed_to_redis


@pytest.fixture(autouse=True)
def forgetful(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Empty the caches of this process, and give each test its own folder for log files."""
    settings.LOGINLOG_FOLDER = tmp_path / "loginlog"
    dense_ids.dense_id_cache.clear()
    hooks.recent_marks.clear()
    owed_to_redis.maybe = False
    yield
    dense_ids.dense_id_cache.clear()
    hooks.recent_marks.clear()
    owed_to_redis.maybe = False
