"""What tests of timelines share."""

import pytest

from accounts.models import User
from social import home
from tests.support.social.timelines import people, timeline_mirror


@pytest.fixture
def alice() -> User:
    """Somebody who reads."""
    return people("alice")[0]


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Home timelines hold 30 posts: a page and a half."""
    monkeypatch.setattr(type(timeline_mirror()), "length", 30)


@pytest.fixture
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is as new: it remembers nobody's authors."""
    monkeypatch.setattr(home, "_fetched", home._Fetched())
