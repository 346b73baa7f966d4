"""Every Redis key of the login log, without the prefix that connections add.

On a cluster all of them begin with ``{loginlog}`` and share one slot, because BITOP and the scripts use many of them.
"""

from datetime import date

from mirror.redis import tag_of


def month(month: date | str, user_type: str, user_id: int | str) -> str:
    """Bitmap: bit d: the user logged in on day d of the month, as a user of this type. Life: until the month expires
    (SQL and the log file have it then). Owner: LoginLogBackup.
    """
    return _name(f"loginLog_{_month(month)}_{user_type}_{user_id}")


def day(day: date | str, user_type: str) -> str:
    """Bitmap: bit n: the user with dense id n logged in on this day, as a user of this type. Life: until the month
    expires (SQL and the log file have it then). Owner: LoginLogBackup.
    """
    return _name(f"loginDay_{day}_{user_type}")


def population() -> str:
    """Bitmap: bit n: the user with dense id n has logged in and was not erased. Life: always. Owner: LoginLogBackup."""
    return _name("loginlog:population")


def erased() -> str:
    """Bitmap: bit n: the user with dense id n was erased; scripts set no bit for it. Life: always.
    Owner: LoginLogBackup.
    """
    return _name("loginlog:erased")


def unmarked() -> str:
    """Hash: dense id and day of a removed login, to the removal's id; below zero: the day was marked again.
    Life: always. Owner: LoginLogBackup.
    """
    return _name("loginlog:unmarked")


def months() -> str:
    """Sorted set: YYYY-MM_type of the bitmaps in Redis, by their number of modifications. Life: until the month
    expires. Owner: LoginLogBackup.
    """
    return _name("loginlog:months")


def union(token: str) -> str:
    """Bitmap: the union of several days, for one answer. Life: a minute at most. Owner: loginlog."""
    return _name(f"loginlog:union:{token}")


def _name(name: str) -> str:
    return tag_of("loginlog") + name


def _month(month: date | str) -> str:
    return month.isoformat()[:7] if isinstance(month, date) else month  # strftime takes ten times as long
