"""Codes of authenticator apps: six digits, new every 30 seconds, each valid once."""

import base64
import secrets
from enum import Enum, auto
from typing import Final

import segno
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.utils.crypto import constant_time_compare

from accounts.second_factor import vault
from accounts.second_factor.models import AuthenticatorApp
from common import clock

STEP_SECONDS: Final = 30
CODE_DIGITS: Final = 6
# The clock of a device may be so many time steps ahead or behind.
TOLERATED_STEPS: Final = 1
SECRET_BYTES: Final = 20
ISSUER: Final = "Diptych"


class CodeUse(Enum):
    """The result of the use of a code. REPEATED: the code is right, but it or a later one was used before."""

    RIGHT = auto()
    REPEATED = auto()
    WRONG = auto()


def make_secret() -> bytes:
    """Return a random secret."""
    return secrets.token_bytes(SECRET_BYTES)


def make_code(secret: bytes, step: int) -> str:
    """Return the code of a time step."""
    # SHA-1, because some apps ignore another algorithm, and a code needs no resistance to collisions.
    return HOTP(secret, CODE_DIGITS, SHA1()).generate(step).decode()


def get_current_step() -> int:
    """Return the number of the current time step."""
    return int(clock.now().timestamp()) // STEP_SECONDS


def find_step(secret: bytes, code: str) -> int | None:
    """Return the time step of a code; None for a wrong code."""
    now = get_current_step()
    steps = range(now - TOLERATED_STEPS, now + TOLERATED_STEPS + 1)
    return next((step for step in steps if constant_time_compare(make_code(secret, step), code)), None)


def make_qr_code(name: str, secret: bytes) -> str:
    """Return the QR code for an app, as a ``data:`` address of an SVG."""
    address = TOTP(secret, CODE_DIGITS, SHA1(), STEP_SECONDS).get_provisioning_uri(name, ISSUER)
    return segno.make(address, error="m").svg_data_uri(scale=5, light="white")


def add_app(user_id: int, secret: bytes, code: str) -> bool:
    """Store the secret of a user's app, in place of an earlier one. Return False if the code is wrong."""
    step = find_step(secret, code)
    if step is None:
        return False
    values = {"secret": vault.encrypt(secret), "last_step": step}
    AuthenticatorApp.objects.update_or_create(user_id=user_id, defaults=values)
    return True


def use_code(user_id: int, code: str) -> CodeUse:
    """Check a code, and mark it and all earlier ones as used. Of concurrent uses one is right."""
    rows = AuthenticatorApp.objects.filter(pk=user_id)
    text = rows.values_list("secret", flat=True).first()
    secret = vault.decrypt(text) if text else None
    step = find_step(secret, code) if secret else None
    if step is None:
        return CodeUse.WRONG
    # One conditional update: of two requests with the same code, one changes the row. It also refuses older codes.
    is_first_use = rows.filter(last_step__lt=step).update(last_step=step) == 1
    return CodeUse.RIGHT if is_first_use else CodeUse.REPEATED


def format_secret(secret: bytes) -> str:
    """Return the secret for typing it into an app: base 32, in groups of four characters."""
    text = base64.b32encode(secret).decode()
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))
