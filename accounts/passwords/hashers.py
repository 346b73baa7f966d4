"""Password hashers."""

from django.contrib.auth import hashers


class Argon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id with the parameters of OWASP's "Password Storage Cheat Sheet": 19 MiB, two passes, one thread.

    Django's defaults (100 MiB, eight threads) need eight times the processor time, so a few login attempts per second
    would slow down the whole site. Hashes with other parameters are renewed at the next login.
    """

    time_cost = 2
    memory_cost = 19_456  # KiB
    parallelism = 1
