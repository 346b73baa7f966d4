"""Fixtures of the tests of social."""

import pytest

from accounts.models import User
from social.timelines import home
from tests.support.social.timelines import make_users, timeline_mirror


@pytest.fixture
def alice() -> User:
    """Create a reader."""
    return make_users("alice")[0]


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit home timelines to 30 posts: a page and a half."""
    monkeypatch.setattr(type(timeline_mirror()), "length", 30)


@pytest.fixture
def nothing_remembered() -> None:
    """Empty the process's cache of pulled authors."""
    home._pulled_authors.clear()
