"""Data for the account page: logins come from Redis, e-mail addresses from SQL, because Redis does not hold them."""

from datetime import datetime
from typing import Any, NamedTuple

from accounts import keys
from accounts.models import LoginStats, User
from accounts.users.records import format_time
from mirror.conf import setting
from mirror.read import read


class Logins(NamedTuple):
    """The number of a user's logins and the time of the last one (None: never)."""

    times: int
    last: datetime | None


class Addresses(NamedTuple):
    """A user's verified e-mail address and the address that waits for verification. Each is "" if it does not exist."""

    email: str
    unverified: str


def read_logins(user_id: int) -> Logins:
    """Return the logins of a user: 1 round trip and no SQL while the mirror is warm."""
    reading = read(["user"], lambda pipe: pipe.hmget(keys.login(user_id), ["login_times", "last_login_time"]))
    times, last = reading.replies[0] if reading else (None, None)
    if times is None:  # the mirror is cold, or the user's record has not reached Redis yet
        times, last = _read_logins_from_sql(user_id)
    text = last.decode() if isinstance(last, bytes) else last
    return Logins(int(times), datetime.fromisoformat(text) if text else None)


def _read_logins_from_sql(user_id: int) -> tuple[int, str]:
    found = LoginStats.objects.using(setting("DATABASE")).filter(pk=user_id)
    times, last = found.values_list("login_times", "last_login_time").first() or (0, None)
    return times, format_time(last)


def read_addresses(user_id: int) -> Addresses:
    """Return the addresses of a user, with one SQL query."""
    row: Any = User.objects.filter(pk=user_id).values_list("email", "email_change__email").first()
    return Addresses(*(text or "" for text in row)) if row else Addresses("", "")
