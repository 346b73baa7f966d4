"""How passwords are hashed."""

from django.contrib.auth import hashers


class Argon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id as OWASP's "Password Storage Cheat Sheet" asks for: 19 MiB, two passes, one thread.

    Django's own (100 MiB, eight threads) takes eight times the processor: a few tries a second, of whatever names,
    would keep everybody else waiting. Hashes with other parameters are renewed at the next login.
    """

    time_cost = 2
    memory_cost = 19_456  # KiB
    parallelism = 1
