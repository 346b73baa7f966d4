"""The data about a person in the login log: bitmaps in SQL and Redis, and lines in the files of expired months."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.personal import NotYet, Part, register
from loginlog import erasure, linelog, selectors
from loginlog.days import today
from loginlog.expiry import LEASE_SECONDS
from loginlog.models import MonthBits
from loginlog.ranges import EARLIEST
from mirror.lease import lease
from mirror.redis import relay_client


def register_parts() -> None:
    """Register the days of logins."""
    register(Part("login_days", _read, _erase, frozenset(["loginlog.Number.user"])))


def _read(user_id: int) -> Iterator[dict[str, Any]]:
    for day in selectors.login_days(user_id, EARLIEST, today()):
        yield {"day": day}


def _erase(user_id: int) -> bool:
    """Take the user out of the files of one month; when no file is left to look into, erase the bitmaps."""
    with lease(relay_client(), "loginlog:expire", LEASE_SECONDS) as mine:  # nobody else writes or clears files
        if not mine:
            raise NotYet
        if _rewrite_files(user_id):
            return True
        erasure.erase(user_id)
    return False


def _rewrite_files(user_id: int) -> bool:
    """Rewrite the files of the first month that has any. The month's rows go with them: they say what is left to do."""
    folder, rows = Path(settings.LOGINLOG_FOLDER), MonthBits.objects.filter(number__user=user_id)
    for month in rows.order_by("month").values_list("month", flat=True).distinct():
        if paths := sorted(folder.glob(f"{month:%Y-%m}*.log.gz")):
            for path in paths:
                linelog.remove_user(path, user_id)
            rows.filter(month=month).delete()
            return True
    return False
