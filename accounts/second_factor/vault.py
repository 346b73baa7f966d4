"""Encryption of secrets that the site must read again, with a key derived from ``SECRET_KEY``.

A copy of SQL or Redis alone cannot generate codes. After a change of ``SECRET_KEY``, ``SECRET_KEY_FALLBACKS`` decrypt.
"""

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

SALT: Final = "accounts.second_factor.vault"


def encrypt(secret: bytes) -> str:
    """Return the secret as encrypted text."""
    return _make_fernets().encrypt(secret).decode()


def decrypt(text: str) -> bytes | None:
    """Return the secret; None if no key of the site decrypts the text."""
    try:
        return _make_fernets().decrypt(text)
    except InvalidToken:
        return None


def _make_fernets() -> MultiFernet:
    return MultiFernet([_make_fernet(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _make_fernet(secret: str | bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(salted_hmac(SALT, "", secret=secret, algorithm="sha256").digest()))
