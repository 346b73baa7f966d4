"""Secrets that the site has to read again: encrypted with a key derived from ``SECRET_KEY``.

A copy of SQL or Redis alone makes no codes. After ``SECRET_KEY`` changes, ``SECRET_KEY_FALLBACKS`` still decrypt.
"""

import base64
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

SALT: Final = "accounts.second_factor.vault"


def encrypt(secret: bytes) -> str:
    """Return the secret as text that only this site decrypts."""
    return _keys().encrypt(secret).decode()


def decrypt(text: str) -> bytes | None:
    """Return the secret; None when no key of the site decrypts it."""
    try:
        return _keys().decrypt(text)
    except InvalidToken:
        return None


def _keys() -> MultiFernet:
    return MultiFernet([_key(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _key(secret: str | bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(salted_hmac(SALT, "", secret=secret, algorithm="sha256").digest()))
