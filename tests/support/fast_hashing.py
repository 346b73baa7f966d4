"""Hash passwords in one millisecond instead of thirty, because very many tests log a user in."""

from accounts.passwords.hashers import Argon2PasswordHasher

_QUICK = {"time_cost": 1, "memory_cost": 64}
SITE = {name: getattr(Argon2PasswordHasher, name) for name in _QUICK}  # the parameters of the site


def install() -> None:
    """Lower the cost of Argon2. Call this before any password is hashed."""
    for name, value in _QUICK.items():
        setattr(Argon2PasswordHasher, name, value)
