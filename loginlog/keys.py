"""Every Redis key of the login log, without the prefix that connections add.

On a cluster all of them begin with ``{loginlog}`` and share one slot, because BITOP uses many of them.
"""

from datetime import date

from loginlog.names import DAY_PREFIX, MonthName, add_tag, make_month_key


def month(month: date, user_type: str, user_id: int) -> str:
    """Bitmap: bit d: the user logged in on day d of the month, as a user of this type. Life: until the month expires.
    Owner: LoginMonthMirror.
    """
    return make_month_key(str(MonthName(month, user_type, user_id)))


def day(day: date | str, user_type: str) -> str:
    """Bitmap: bit n: the user with dense id n logged in on this day, as a user of this type.

    Life: until the month expires. Owner: LoginMonthMirror.
    """
    return add_tag(f"{DAY_PREFIX}{day}_{user_type}")


def union(token: str) -> str:
    """Bitmap: the union of several days, for one answer. Life: a minute at most. Owner: loginlog."""
    return add_tag(f"loginlog:union:{token}")
