"""Passwords are hashed in a millisecond, and not in thirty: very many tests log somebody in."""

from accounts.hashers import Argon2PasswordHasher

_QUICK = {"time_cost": 1, "memory_cost": 64}
SITE = {name: getattr(Argon2PasswordHasher, name) for name in _QUICK}  # what the site spends


def install() -> None:
    """Before any password is hashed."""
    for name, value in _QUICK.items():
        setattr(Argon2PasswordHasher, name, value)
