"""Names that sessions, cookies and sent links contain: a renamed class or module must not change them."""

import pytest
from django.conf import settings
from django.utils.module_loading import import_string

from accounts.deletion import tokens
from accounts.leaderboard import page as leaderboard
from accounts.lockout import known
from accounts.mail import addresses
from accounts.passwords.services import ResetTokenGenerator
from accounts.second_factor import vault
from catalog.listing import cursors


def test_sessions_find_the_backend_that_logged_them_in() -> None:
    stored = {"accounts.deletion.Backend", "django.contrib.auth.backends.ModelBackend"}
    assert stored <= set(settings.AUTHENTICATION_BACKENDS)
    assert all(map(import_string, settings.AUTHENTICATION_BACKENDS))


@pytest.mark.parametrize(
    ("salt", "stored"),
    [
        (ResetTokenGenerator.key_salt, "accounts.passwords.ResetTokens"),
        (tokens.SALT, "accounts.deletion"),
        (addresses.SALT, "accounts.emails"),
        (known.SALT, "accounts.lockout.known"),
        (vault.SALT, "accounts.second_factor.vault"),
        (leaderboard.SALT, "accounts.leaderboard.1"),
        (cursors.SALT, "catalog.cursor.1"),
    ],
)
def test_links_and_cookies_stay_valid(salt: str, stored: str) -> None:
    assert salt == stored
