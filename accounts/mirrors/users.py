"""Mirrors of users, their names and their logins."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

import mirror
from accounts import keys
from accounts.models import LoginStats, User
from accounts.users.records import format_time
from common.ids import parse_ids
from mirror import Lookup, Mirror, Ranking, Record, SqlMembers, SummaryMirror, Watch
from mirror.conf import database, setting

MAX_LAST_LOGINS: Final = 100  # users in the list of last logins


class UserRow(NamedTuple):
    """The columns of a user that its record is made of."""

    id: int
    name: str
    name_key: str
    avatar: str
    user_type: str
    is_active: bool
    is_private: bool
    shows_logins: bool
    login_times: int | None
    last_login_time: datetime | None


def is_on_leaderboard(record: Mapping[str, Any]) -> bool:
    """Return whether the leaderboard shows a user: an active one that has logged in."""
    return record["is_active"] == "1" and record["login_times"] != "0"


def is_shown_to_everyone(record: Mapping[str, Any]) -> bool:
    """Return whether everyone sees a user on the leaderboard."""
    return is_on_leaderboard(record) and record["shows_logins"] == "1"


def find_by_name(values: Mapping[str, str]) -> SqlMembers:
    """Return the user with a folded name."""
    return SqlMembers(User._base_manager.using(database()).filter(name_key=values["value"]))


def find_on_leaderboard(values: Mapping[str, str]) -> SqlMembers:
    """Return the active users with logins, by their number."""
    return SqlMembers(_select_users_with_logins(), "user_id", "login_times")


def find_shown_on_leaderboard(values: Mapping[str, str]) -> SqlMembers:
    """Return the users whom everyone sees on the leaderboard, by their number of logins."""
    return SqlMembers(_select_users_with_logins().filter(user__shows_logins=True), "user_id", "login_times")


def find_shown_by_last_login(values: Mapping[str, str]) -> SqlMembers:
    """Return the same users by the time of the last login."""
    return SqlMembers(_select_users_with_logins().filter(user__shows_logins=True), "user_id", "last_login_time")


def _select_users_with_logins() -> QuerySet[LoginStats]:
    return LoginStats._base_manager.using(database()).filter(login_times__gt=0, user__is_active=True)


@mirror.register
class UserMirror(Mirror):
    """Mirror each user as a record, as an id under the user's name, and as a place on the leaderboard."""

    model = User
    key = keys.login("{pk}")
    strict = True
    record_kind = "hash"
    version = 3  # with privacy and the picture
    watches = (
        Watch(User, only=("username", "name_key", "avatar", "user_type", "is_active", "is_private", "shows_logins")),
        Watch(LoginStats, "user_id"),
    )
    indexes = (
        Lookup(keys.login_id("{value}"), on="name_key", sql=find_by_name),
        Ranking(keys.login_times(), score="login_times", when=is_on_leaderboard, sql=find_on_leaderboard),
        Ranking(
            keys.shown_login_times(),
            score="login_times",
            when=is_shown_to_everyone,
            sql=find_shown_on_leaderboard,
        ),
        Ranking(
            keys.shown_last_logins(),
            score="last_login_time",
            when=is_shown_to_everyone,
            sql=find_shown_by_last_login,
        ),
    )

    def load(self, pks: Sequence[str]) -> Mapping[str, UserRow]:
        found = User._base_manager.using(setting("DATABASE")).filter(pk__in=parse_ids(pks))
        rows = found.values_list(
            "pk", "username", "name_key", "avatar", "user_type", "is_active", "is_private", "shows_logins",
            "login_stats__login_times", "login_stats__last_login_time",
        )  # fmt: skip
        return {str(row.id): row for row in map(UserRow._make, rows)}

    def record(self, row: Any) -> Record:
        return {
            "id": str(row.id),
            "name": row.name,
            "name_key": row.name_key,
            "avatar": row.avatar,
            "user_type": row.user_type,
            "is_active": "1" if row.is_active else "0",
            "is_private": "1" if row.is_private else "0",
            "shows_logins": "1" if row.shows_logins else "0",
            "login_times": str(row.login_times or 0),
            "last_login_time": format_time(row.last_login_time),
        }


@mirror.register
class LastLoginsMirror(SummaryMirror):
    """Mirror the list of the last users to log in, newest first, each user once."""

    name = "last_logins"
    label = _("last logins")
    model = LoginStats
    watches = (
        Watch(LoginStats, whole=True),
        Watch(User, whole=True, only=("is_active",), inserts=False),
    )

    def record_key(self, pk: str) -> str:
        return keys.last_login_times()

    def items(self) -> list[str]:
        found = LoginStats._base_manager.using(setting("DATABASE")).filter(user__is_active=True, login_times__gt=0)
        last = found.order_by("-last_login_time", "-user_id").values_list("user_id", flat=True)[:MAX_LAST_LOGINS]
        return list(map(str, last))
