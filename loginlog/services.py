"""Services that mark logins, remove a login and erase a user. SQL has all logins, and Redis mirrors them."""

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from accounts.models import User
from loginlog.archive import log_files
from loginlog.days import day_of, month_of, today
from loginlog.mirrors import NAME
from loginlog.models import LoginMonth
from loginlog.names import MonthName
from loginlog.storage import bitmaps, months
from mirror.conf import setting
from mirror.relay import hint

logger = logging.getLogger("loginlog")
LOGINS_PER_TRANSACTION: Final = 5000
Login = tuple[int, str, date]  # user id, the type at that time, the day


def mark_login(user: User, at: date | datetime | None = None) -> bool:
    """Mark a login at a point in time (default: now), with the user's current type.

    Return False if the mark already exists, or if the user does not. One statement, which belongs to the transaction of
    the caller. Raises ValueError for a datetime without a time zone.
    """
    return mark_login_as(user.pk, user.user_type, today() if at is None else day_of(at))


def mark_login_as(user_id: int, user_type: str, day: date) -> bool:
    """Mark a login as ``mark_login`` does, for a user's id and a type that may have changed since."""
    name = MonthName(month_of(day), user_type, user_id)
    if not months.merge({name: bitmaps.bit_of_day(day)}):
        return False
    hint(NAME, "", [str(name)])
    return True


def mark_logins(logins: Iterable[Login]) -> int:
    """Mark many logins, such as those of another site. Return the number of new ones.

    Logins of users that do not exist are left out. Thousands of logins are one transaction.
    """
    new = 0
    left = iter(logins)
    while part := list(islice(left, LOGINS_PER_TRANSACTION)):
        found: dict[MonthName, int] = defaultdict(int)
        for user_id, user_type, day in part:
            found[MonthName(month_of(day), user_type, user_id)] |= bitmaps.bit_of_day(day)
        new += months.merge_new(found)
    return new


def remove_login(user: User, day: date) -> bool:
    """Remove a user's login of a day, of every type, also from log files. Return whether it existed.

    A later mark of the day counts. Raises BadFile for a damaged file of the month; SQL lacks the login then.
    """
    # SQL first, so that a damaged file cannot keep the login there.
    names = months.remove(user.pk, day)
    hint(NAME, "", names)
    files = sorted(Path(settings.LOGINLOG_FOLDER).glob(f"{day:%Y-%m}{log_files.PATTERN}"))
    # All files, also after the first one with the login: a month that expired again has several.
    removed = [log_files.remove_login(path, user.pk, day) for path in files]
    return bool(names) or any(removed)


def erase_user(user: User) -> bool:
    """Erase every login of a user in SQL and Redis, and in the log files. Return whether the log had the user."""
    found = False
    # Files before rows: after a crash in between, SQL still tells in which months the user was.
    while erase_in_one_file(user.pk):
        found = True
    return erase_rows(user.pk) or found


def erase_in_one_file(user_id: int) -> bool:
    """Remove a user from the first log file that has one. Return False if none has.

    Raises BadFile for a damaged file of a month for which SQL has the user; others are logged and left alone.
    """
    months = {str(month)[:7] for month in _query(user_id).values_list("month", flat=True)}
    for path in sorted(Path(settings.LOGINLOG_FOLDER).glob(log_files.PATTERN)):
        try:
            if log_files.remove_user(path, user_id):
                return True
        except log_files.BadFile:
            # The lines of the file are unknown. If SQL has the month, they probably include this user.
            if path.name[:7] in months:
                raise
            logger.exception("It is unknown whether a damaged log file has the user %s", user_id)
    return False


def erase_rows(user_id: int) -> bool:
    """Erase every login of a user in SQL and Redis. Return whether SQL had one."""
    rows = _query(user_id)
    names = list(rows.values_list("pk", flat=True))
    rows.delete()
    hint(NAME, "", names)
    return bool(names)


def _query(user_id: int) -> QuerySet[LoginMonth]:
    return LoginMonth.objects.using(setting("DATABASE")).filter(user_id=user_id)
