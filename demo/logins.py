"""The demo's two logins. The first run generates their passwords and stores them under ``var``."""

import secrets
from typing import Final

from demo import notes

ROLES_BY_LOGIN: Final = {"demo-staff": "staff", "demo-shopper": "shopper"}


def read_logins() -> list[tuple[str, str, str]]:
    """Return name, password and role of each existing login."""
    passwords = notes.read_note("passwords")
    return [(name, passwords[name], role) for name, role in ROLES_BY_LOGIN.items() if name in passwords]


def create_logins() -> None:
    """Create the logins, or restore their stored passwords. Needs Django."""
    from accounts.models import User

    passwords = notes.read_note("passwords")
    for name, role in ROLES_BY_LOGIN.items():
        user = User.objects.filter(username=name).first() or User(username=name)
        # A new hash would end the sessions of this login.
        if name in passwords and user.pk and user.check_password(passwords[name]):
            continue
        passwords[name] = secrets.token_urlsafe(9)
        user.set_password(passwords[name])
        is_staff = role == "staff"
        user.is_staff = user.is_superuser = is_staff
        user.user_type = User.Type.OFFICE if is_staff else User.Type.CLIENT
        user.save()
    notes.write_note("passwords", passwords)
