"""Password hashers."""

import unicodedata
from typing import Final

from django.contrib.auth import hashers

# Normalising takes quadratic time, so a longer text is hashed as it is.
MAX_NORMALIZED: Final = 1000


def normalize_password(password: str) -> str:
    """Return a password in NFKC, as NIST SP 800-63B advises: devices type the same letters as different code points."""
    return unicodedata.normalize("NFKC", password) if len(password) <= MAX_NORMALIZED else password


class Argon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id with the parameters of OWASP's "Password Storage Cheat Sheet": 19 MiB, two passes, one thread.

    Django's defaults (100 MiB, eight threads) need 360 ms of processor time instead of 46, so six login attempts per
    second would occupy two cores. Hashes with other parameters are renewed at the next login.

    New hashes are of the normalised password. ``User.check_password`` also tries the password as typed, for older ones.
    """

    time_cost = 2
    memory_cost = 19_456  # KiB
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return super().encode(normalize_password(password), salt)
