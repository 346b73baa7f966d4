"""Data for the account page: logins come from Redis, and email addresses from SQL, because Redis has none."""

from datetime import datetime
from typing import Any, NamedTuple

from accounts.mirrors.users import UserMirror
from accounts.models import User


class Logins(NamedTuple):
    """The number of a user's logins and the time of the last one (None: never)."""

    times: int
    last: datetime | None


class Addresses(NamedTuple):
    """A user's verified e-mail address and the address that waits for verification. Each is "" if it does not exist."""

    email: str
    unverified: str


def read_logins(user_id: int) -> Logins:
    """Return the logins of a user, in one round trip."""
    record = UserMirror.get(user_id)
    if record is None:
        return Logins(0, None)
    last = record["last_login_time"]
    return Logins(int(record["login_times"]), datetime.fromisoformat(last) if last else None)


def read_addresses(user_id: int) -> Addresses:
    """Return the addresses of a user, with one SQL query."""
    row: Any = User.objects.filter(pk=user_id).values_list("email", "email_change__email").first()
    return Addresses(*(text or "" for text in row)) if row else Addresses("", "")
