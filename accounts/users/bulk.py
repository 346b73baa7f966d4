"""Create many users and their login counts in few statements, for importers. Existing users are left unchanged."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import connection, transaction
from django.utils import timezone

from accounts.lookalikes import skeleton
from accounts.models import User
from accounts.names import valid_name
from common.database import repeat_after_conflict, split_slices
from common.text import fold
from mirror.utils import arrays

NAMES_PER_QUERY = 5000  # names per query


class LoginTotals(NamedTuple):
    """The number of a user's logins and the time of the last one."""

    times: int
    last: datetime


def get_or_create_users(names: Iterable[str], *, user_type: str = User.Type.CLIENT) -> dict[str, int]:
    """Return the user's id for each name as given. Missing users are created without a password.

    Names that are equal after folding belong to one user. Raises ValidationError for an invalid name.
    """
    wanted = {name: fold(name) for name in names}
    keys = list(dict.fromkeys(wanted.values()))
    known = _find_ids(keys)
    spelled = {key: name for name, key in reversed(wanted.items()) if key not in known}
    for name in spelled.values():
        valid_name(name)
    for some in split_slices(spelled[key] for key in keys if key in spelled):
        _insert_slice(some, user_type)
    # The insert does not return the ids of users whom a concurrent registration created.
    known |= _find_ids(list(spelled))
    return {name: known[key] for name, key in wanted.items()}


# Not ``bulk_create``, which passes each column of each user as a parameter, and SQLite accepts few in a statement.
_INSERT_USERS_SQL = """
    INSERT INTO accounts_user (
        username, name_key, name_skeleton, user_type, password, session_secret, date_joined,
        first_name, last_name, email, is_staff, is_superuser, is_active
    )
    SELECT v.*, '', '', '', false, false, true FROM {rows} WHERE true
    ON CONFLICT DO NOTHING
"""
_USER_TYPES = {
    "name": "text",
    "name_key": "text",
    "name_skeleton": "text",
    "user_type": "text",
    "password": "text",
    "session_secret": "text",
    "date_joined": "timestamptz",
}


@repeat_after_conflict
def _insert_slice(names: Sequence[str], user_type: str) -> None:
    """Create users without passwords. A concurrent registration keeps its name."""
    now = timezone.now()
    rows = [
        # One random number for each secret. Django takes one for each letter, half of the time of an import.
        (
            name,
            fold(name),
            skeleton(name),
            user_type,
            UNUSABLE_PASSWORD_PREFIX + secrets.token_urlsafe(30),
            secrets.token_urlsafe(16),
            now,
        )
        for name in names
    ]
    source, values = arrays.make_table(_USER_TYPES, rows, "v")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_INSERT_USERS_SQL.format(rows=source), values)


def _find_ids(keys: Sequence[str]) -> dict[str, int]:
    rows = User.objects.values_list("name_key", "pk")
    found: dict[str, int] = {}
    for start in range(0, len(keys), NAMES_PER_QUERY):
        found.update(rows.filter(name_key__in=keys[start : start + NAMES_PER_QUERY]))
    return found


_RAISE_TOTALS_SQL = """
    INSERT INTO accounts_loginstats AS s (user_id, login_times, last_login_time)
    SELECT * FROM {rows} WHERE true
    ON CONFLICT (user_id) DO UPDATE SET
        login_times = CASE WHEN excluded.login_times > s.login_times THEN excluded.login_times ELSE s.login_times END,
        last_login_time = CASE
            WHEN excluded.last_login_time > s.last_login_time THEN excluded.last_login_time
            ELSE s.last_login_time
        END
    WHERE excluded.login_times > s.login_times OR excluded.last_login_time > s.last_login_time
"""
_TYPES = {"user_id": "bigint", "times": "integer", "last": "timestamptz"}


def raise_login_totals(logins: Mapping[int, LoginTotals]) -> int:
    """Raise the login count and the last login of each user (by id) to at least the given values.

    Return the number of changed users, which is 0 for a repeated call. Raises IntegrityError for an unknown id.
    """
    # A fixed order, so that two importers cannot deadlock.
    rows = [(pk, *logins[pk]) for pk in sorted(logins)]
    return sum(map(_raise_slice, split_slices(rows)))


@repeat_after_conflict
def _raise_slice(rows: Sequence[tuple[int, int, datetime]]) -> int:
    source, values = arrays.make_table(_TYPES, rows)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_RAISE_TOTALS_SQL.format(rows=source), values)
        return max(0, int(cursor.rowcount))
