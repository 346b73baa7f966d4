"""The mirror of sessions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from django.conf import settings
from django.contrib.auth.models import Group
from django.db.models import Model, Q

import mirror
from accounts import keys
from accounts.models import Session, User
from accounts.sessions import last_seen
from accounts.sessions.rows import SessionRow, load_sessions, make_record
from mirror import Contribution, Family, Mirror, OwnField, Record, Scored, Watch, find_bucket_key, find_bucket_start
from mirror.conf import setting
from mirror.redis import Command

# Columns of the user that a session's record is derived from.
USER_COLUMNS = (
    "username",
    "user_type",
    "is_active",
    "is_staff",
    "is_superuser",
    "password",
    "session_secret",
    "time_zone",
)


def _find_digests(condition: Q, after: str | None, limit: int) -> list[str]:
    found = Session._base_manager.using(setting("DATABASE")).filter(condition)
    if after is not None:
        found = found.filter(pk__gt=after)
    return list(found.order_by("pk").values_list("pk", flat=True)[:limit])


def find_sessions_of_users(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next digests of sessions of these users, in order, after the digest ``after``."""
    return _find_digests(Q(user_id__in=values), after, limit)


def find_sessions_of_groups(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next digests of sessions of users in these groups, in order, after the digest ``after``."""
    people = User.groups.through._base_manager.using(setting("DATABASE")).filter(group_id__in=values)
    return _find_digests(Q(user_id__in=people.values("user_id")), after, limit)


@mirror.register
class SessionMirror(Mirror):
    """Mirror each session as a record with the needed fields of its user, and as entries that link it with the user.

    Expired sessions are mirrored until SQL deletes them, so that the content of Redis does not depend on a clock.
    """

    name = "session"
    version = 3  # records are signed, and have the time zone
    model = Session
    strict = True
    buckets = settings.SESSION_BUCKETS
    watches = (
        Watch(Session),
        Watch(User, via=find_sessions_of_users, only=USER_COLUMNS, inserts=False),
        Watch(User.groups.through, "user_id", via=find_sessions_of_users),
        Watch(User.user_permissions.through, "user_id", via=find_sessions_of_users),
        Watch(Group.permissions.through, "group_id", via=find_sessions_of_groups),
    )

    def record_key(self, pk: str) -> str:
        return keys.session(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, SessionRow]:
        return load_sessions(pks)

    def record(self, row: Any) -> Record:
        return make_record(row)

    def index(self, pk: str, record: Record) -> Iterable[Contribution]:
        if record["user"] is None:
            return ()
        # Not the digest of the record, which may be a copy of another session's.
        user, tokens = str(record["user"]["id"]), find_bucket_key(keys.tokens(), pk, self.buckets)
        return [OwnField(tokens, pk, user), Scored(keys.sessions_of(user), pk, record["since"])]

    def rows_behind(self, record: Record) -> Iterable[tuple[type[Model], Any]]:
        if record["user"] is None:
            return ()
        links = User.groups.through, User.user_permissions.through
        return ((model, record["user"]["id"]) for model in (User, *links))

    def extra_commands(self, records: Mapping[str, Any]) -> list[Command]:
        """Correct ``recent:`` where a request could not, because Redis refused its write or the process was killed."""
        alive = {digest: orjson.loads(raw)["since"] for digest, raw in records.items() if raw is not None}
        gone = [digest for digest, raw in records.items() if raw is None]
        return last_seen.make_corrections(alive, gone)

    def families(self) -> Sequence[Family]:
        return (
            Family(keys.tokens(), "hash", _get_member, whole=True),
            *([Family(find_bucket_start(keys.tokens()), "hash", _get_member)] if self.buckets > 1 else []),
            Family(keys.sessions_of(""), "zset", _get_member),
        )

    def retired(self) -> Sequence[str]:
        return [find_bucket_start(keys.tokens())] if self.buckets == 1 else []


def _get_member(key: str, member: str) -> str:
    return member
