"""Hash passwords in one millisecond instead of thirty to 500, because very many tests log a user in."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from accounts.passwords.hashers import Argon2PasswordHasher

_QUICK = {"time_cost": 1, "memory_cost": 64}
SITE = {name: getattr(Argon2PasswordHasher, name) for name in _QUICK}  # the parameters of the site


def install() -> None:
    """Lower the cost of Argon2, and of PBKDF2 for old hashes. Call this before any password is hashed."""
    for name, value in _QUICK.items():
        setattr(Argon2PasswordHasher, name, value)
    PBKDF2PasswordHasher.iterations = 1000
