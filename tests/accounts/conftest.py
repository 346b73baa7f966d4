"""Fixtures of the tests of accounts."""

from collections.abc import Iterator

import pytest

from accounts import letters
from accounts.hashers import Argon2PasswordHasher
from tests import hashes
from tests.servers import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def no_letter_is_under_way() -> Iterator[None]:
    """A letter that this process sends itself, for want of a broker, is sent before the next test looks for its own."""
    submit = letters._thread.submit  # a test may put another in its place
    yield
    submit(int).result(PATIENCE_SECONDS)


@pytest.fixture
def dear_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords cost what they cost on the site."""
    for name, value in hashes.SITE.items():
        monkeypatch.setattr(Argon2PasswordHasher, name, value)
