"""Every key of the login log. Connections put the prefix before them."""

from datetime import date

from mirror.naming import key


def month(month: date | str, user_type: str, user_id: int | str) -> str:
    """Bitmap: bit d: the user logged in on day d of the month, as a user of this type. Life: until it has expired
    (SQL and the line log have it then). Owner: LoginLogBackup.
    """
    return key(f"loginLog_{_month(month)}_{user_type}_{user_id}")


def day(day: date | str, user_type: str) -> str:
    """Bitmap: bit n: the user with number n logged in on this day, as a user of this type. Life: until it has
    expired (SQL and the line log have it then). Owner: LoginLogBackup.
    """
    return key(f"loginDay_{day}_{user_type}")


def population() -> str:
    """Bitmap: bit n: there is a user with number n who ever logged in. Life: always. Owner: LoginLogBackup."""
    return key("loginlog:population")


def erased() -> str:
    """Bitmap: bit n: the user with number n was erased, and no bit may be set for them. Life: always.
    Owner: LoginLogBackup.
    """
    return key("loginlog:erased")


def unmarked() -> str:
    """Hash: number:day of a login that was removed, to the removal's number; below zero: the day was marked again.
    Life: always. Owner: LoginLogBackup.
    """
    return key("loginlog:unmarked")


def months() -> str:
    """Sorted set: YYYY-MM_type of which Redis has bitmaps, by how often one was changed. Life: until the month has
    expired. Owner: LoginLogBackup.
    """
    return key("loginlog:months")


def union(token: str) -> str:
    """Bitmap: several days OR-ed, for one answer. Life: a minute at most. Owner: loginlog."""
    return key(f"loginlog:union:{token}")


def _month(month: date | str) -> str:
    return month.isoformat()[:7] if isinstance(month, date) else month  # strftime takes ten times as long
