"""Fixtures of the tests of accounts."""

import pytest

from accounts.hashers import Argon2PasswordHasher
from tests.support import hashes


@pytest.fixture
def dear_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords cost what they cost on the site."""
    for name, value in hashes.SITE.items():
        monkeypatch.setattr(Argon2PasswordHasher, name, value)
