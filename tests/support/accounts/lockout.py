"""Helpers shared by the tests of lock-outs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.test import Client

from accounts.passwords.hashers import Argon2PasswordHasher

LOGIN = "/accounts/login/"
PASSWORD = "a quiet bookshop"
HOME, ELSEWHERE = "192.0.2.1", "198.51.100.1"


def log_in(client: Client, name: str, password: str = PASSWORD, address: str = HOME, **more: Any) -> Any:
    """Submit the login form and return the response."""
    return client.post(LOGIN, {"username": name, "password": password, **more}, REMOTE_ADDR=address)


def fail_logins(name: str = "alice", times: int = 5, address: str = HOME) -> list[int]:
    """Submit a wrong password ``times`` times, each from a new browser. Return the status codes."""
    return [log_in(Client(), name, "wrong", address).status_code for _ in range(times)]


def is_logged_in(client: Client) -> bool:
    """Return whether a user is logged in with this client."""
    return "_auth_user_id" in client.session


@contextmanager
def record_hashing() -> Iterator[list[str]]:
    """Record runs of Argon2: the list gets one entry per run, for any user name and any parameters."""
    runs: list[str] = []
    encode, verify = Argon2PasswordHasher.encode, Argon2PasswordHasher.verify

    def counted_encode(self: Any, password: str, salt: str) -> str:
        runs.append("encode")
        return encode(self, password, salt)

    def counted_verify(self: Any, password: str, encoded: str) -> bool:
        runs.append("verify")
        return bool(verify(self, password, encoded))

    Argon2PasswordHasher.encode = counted_encode  # type: ignore[method-assign]
    Argon2PasswordHasher.verify = counted_verify  # type: ignore[method-assign]
    try:
        yield runs
    finally:
        Argon2PasswordHasher.encode, Argon2PasswordHasher.verify = encode, verify  # type: ignore[method-assign]
