"""What a person's account page says: their logins from Redis; the e-mail address, which Redis has not, from SQL."""

from datetime import datetime
from typing import Any, NamedTuple

from accounts import keys
from accounts.models import LoginStats, User
from accounts.records import time_text
from mirror.conf import setting
from mirror.read import read


class Logins(NamedTuple):
    """How often somebody logged in, and when last (None: never)."""

    times: int
    last: datetime | None


class Addresses(NamedTuple):
    """Somebody's e-mail address ("": none), and the one they want and have not confirmed ("": none)."""

    email: str
    wanted: str


def logins_of(user_id: int) -> Logins:
    """The logins of a user. 1 round trip, no SQL, when warm."""
    reading = read(["user"], lambda pipe: pipe.hmget(keys.login(user_id), ["login_times", "last_login_time"]))
    times, last = reading.replies[0] if reading else (None, None)
    if times is None:  # cold, or a user so new that Redis has not heard of them
        times, last = _logins_by_sql(user_id)
    text = last.decode() if isinstance(last, bytes) else last
    return Logins(int(times), datetime.fromisoformat(text) if text else None)


def _logins_by_sql(user_id: int) -> tuple[int, str]:
    found = LoginStats.objects.using(setting("DATABASE")).filter(pk=user_id)
    times, last = found.values_list("login_times", "last_login_time").first() or (0, None)
    return times, time_text(last)


def addresses_of(user_id: int) -> Addresses:
    """The addresses of a user: one statement."""
    row: Any = User.objects.filter(pk=user_id).values_list("email", "email_change__email").first()
    return Addresses(*(text or "" for text in row)) if row else Addresses("", "")
