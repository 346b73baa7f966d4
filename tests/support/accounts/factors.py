"""Authenticator apps for tests."""

from accounts.models import User
from accounts.second_factor import app_codes


def add_app(user: User) -> bytes:
    """Add an authenticator app to the user and return its secret. No code of the current step has been used yet."""
    secret = app_codes.make_secret()
    assert app_codes.add_app(user.pk, secret, app_codes.make_code(secret, app_codes.get_current_step() - 1))
    return secret


def present_code(secret: bytes) -> str:
    """Return the code that the app shows now."""
    return app_codes.make_code(secret, app_codes.get_current_step())
