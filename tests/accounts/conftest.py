"""Fixtures of the tests of accounts."""

import pytest

from accounts.hashers import Argon2PasswordHasher


@pytest.fixture
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2 in a millisecond, for tests that send very many passwords."""
    for name, value in {"time_cost": 1, "memory_cost": 64, "parallelism": 1}.items():
        monkeypatch.setattr(Argon2PasswordHasher, name, value)
