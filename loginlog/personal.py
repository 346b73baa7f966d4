"""The personal data in the login log: months in SQL, which Redis mirrors, and lines in the files of expired months."""

from collections.abc import Iterator
from typing import Any

from accounts.personal import NotErasableYet, Part, register
from loginlog import selectors, services
from loginlog.archive.expiry import LEASE_SECONDS
from loginlog.days import today
from loginlog.reports.parameters import EARLIEST_DAY
from mirror.redis import lease, relay_client


def register_parts() -> None:
    """Register the login days."""
    register(
        Part(
            "login_days",
            _read_login_days,
            _erase_login_days,
            frozenset(["loginlog.LoginMonth.user", "loginlog.Number.user"]),
        )
    )


def _read_login_days(user_id: int) -> Iterator[dict[str, Any]]:
    for day in selectors.find_login_days(user_id, EARLIEST_DAY, today()):
        yield {"day": day}


def _erase_login_days(user_id: int) -> bool:
    """Remove the user from one log file, or erase the rows when no file has the user.

    Return whether another call is needed. Raises NotErasableYet while an expiry runs.
    """
    # The lease of the expiry, which would write the user into another file.
    with lease(relay_client(), "loginlog:expire", LEASE_SECONDS) as mine:
        if not mine:
            raise NotErasableYet
        if services.erase_in_one_file(user_id):
            return True
        services.erase_rows(user_id)
    return False
