"""The personal data in the login log: bitmaps in SQL and Redis, and lines in the files of expired months."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.personal import NotErasableYet, Part, register
from loginlog import selectors
from loginlog.archive import log_files
from loginlog.archive.expiry import LEASE_SECONDS
from loginlog.corrections import erasure
from loginlog.days import today
from loginlog.models import MonthBits
from loginlog.reports.parameters import EARLIEST_DAY
from mirror.redis import lease, relay_client


def register_parts() -> None:
    """Register the login days."""
    register(Part("login_days", _read_login_days, _erase_login_days, frozenset(["loginlog.Number.user"])))


def _read_login_days(user_id: int) -> Iterator[dict[str, Any]]:
    for day in selectors.find_login_days(user_id, EARLIEST_DAY, today()):
        yield {"day": day}


def _erase_login_days(user_id: int) -> bool:
    """Remove the user from the log files of one month, or erase the bitmaps when no file is left.

    Return whether another call is needed. Raises NotErasableYet while an expiry runs.
    """
    with lease(relay_client(), "loginlog:expire", LEASE_SECONDS) as mine:  # excludes other writers of log files
        if not mine:
            raise NotErasableYet
        if _rewrite_files(user_id):
            return True
        erasure.erase_user(user_id)
    return False


def _rewrite_files(user_id: int) -> bool:
    """Rewrite the files of the first month that has any. Return False if no month has files.

    The user's rows of the month are deleted with them, so the remaining rows are the remaining work.
    """
    folder, rows = Path(settings.LOGINLOG_FOLDER), MonthBits.objects.filter(number__user=user_id)
    for month in rows.order_by("month").values_list("month", flat=True).distinct():
        if paths := sorted(folder.glob(f"{month:%Y-%m}*.log.gz")):
            for path in paths:
                log_files.remove_user(path, user_id)
            rows.filter(month=month).delete()
            return True
    return False
