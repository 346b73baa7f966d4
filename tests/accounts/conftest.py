"""Fixtures for the tests of accounts."""

import pytest

from accounts.passwords.hashers import Argon2PasswordHasher
from tests.support import fast_hashing


@pytest.fixture
def dear_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords with the parameters of the site, which are slower than those of tests."""
    for name, value in fast_hashing.SITE.items():
        monkeypatch.setattr(Argon2PasswordHasher, name, value)
