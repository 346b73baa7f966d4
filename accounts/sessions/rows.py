"""Sessions as requests read them: with the needed fields of the user, in the same form from Redis and from SQL."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
from django.contrib.auth.models import Group
from django.core.signing import BadSignature, Signer
from django.db import connections

from accounts import keys
from accounts.models import Session, User
from accounts.sessions.companions import companions
from mirror import Record
from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisPipeline
from mirror.relay import send
from mirror.utils import arrays

# Not by the ORM, which needs longer for it than PostgreSQL, and each login asks twice.
_LINKS_SQL: Final = """
    SELECT user_id, group_id, NULL AS permission_id FROM accounts_user_groups WHERE user_id {match}
    UNION ALL
    SELECT user_id, NULL, permission_id FROM accounts_user_user_permissions WHERE user_id {match}
"""
NO_RIGHTS = ""  # of users who are not staff and have neither groups nor permissions


class SessionRow(NamedTuple):
    """A session in SQL. rights: the digest of its user's rights (``read_rights``)."""

    session: Session
    rights: str


def hash_token(token: str) -> str:
    """Return the digest of a token, the only form that is stored: its SHA-256 in hexadecimal."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def load_sessions(digests: Sequence[str]) -> dict[str, SessionRow]:
    """Return sessions by digest, including expired ones, with at most three queries."""
    found = Session.objects.using(setting("DATABASE")).filter(pk__in=digests).select_related("user")
    sessions = list(found)
    rights = read_rights(session.user for session in sessions if session.user)
    return {s.pk: SessionRow(s, rights[s.user_id] if s.user_id else NO_RIGHTS) for s in sessions}


def read_rights(users: Iterable[User]) -> dict[int, str]:
    """Return, by user id, a short digest of the rights: staff, superuser, groups and permissions. Two queries."""
    people = {user.pk: user for user in users}
    if not people:
        return {}
    groups, own = _read_links_of_users(people)
    granted: dict[int, list[int]] = defaultdict(list)
    if found := {group for of_user in groups.values() for group in of_user}:
        links = Group.permissions.through._base_manager.using(setting("DATABASE")).filter(group_id__in=found)
        for group, permission in links.values_list("group_id", "permission_id"):
            granted[group].append(permission)
    return {
        pk: _hash_rights(user, sorted(groups[pk]), sorted(own[pk]), sorted({p for g in groups[pk] for p in granted[g]}))
        for pk, user in people.items()
    }


def _read_links_of_users(pks: Iterable[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return, by user id, the ids of the groups and of the user's own permissions."""
    groups: dict[int, list[int]] = defaultdict(list)
    own: dict[int, list[int]] = defaultdict(list)
    match, parameters = arrays.match_any(pks)
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(_LINKS_SQL.format(match=match), [*parameters, *parameters])
        for user, group, permission in cursor.fetchall():
            if permission is None:
                groups[user].append(group)
            else:
                own[user].append(permission)
    return groups, own


def _hash_rights(user: User, *lists: list[int]) -> str:
    if not (user.is_staff or user.is_superuser or any(lists)):
        return NO_RIGHTS
    return hashlib.sha256(json.dumps([user.is_staff, user.is_superuser, *lists]).encode()).hexdigest()[:16]


def make_record(row: SessionRow) -> Record:
    """Return the signed record of a session. Times are in seconds since 1970."""
    session, user = row.session, row.session.user
    record = {
        "digest": session.pk,
        "data": session.session_data,
        "expires": session.expire_date.timestamp(),
        "since": session.created_at.timestamp(),
        "device": session.device,
        "user": user
        and {
            "id": user.pk,
            "name": user.username,
            "type": user.user_type,
            "is_active": user.is_active,
            "is_staff": user.is_staff,
            "is_superuser": user.is_superuser,
            "time_zone": user.time_zone,
            "auth": user.get_session_auth_hash(),
            "rights": row.rights,
        },
    }
    # The same row always gives the same signature, because verification compares records. With the time of signing,
    # older records could be refused, but each would have to be written again all the time.
    return record | {"signature": _make_signer(session.pk).signature(_encode(record))}


def parse_record(digest: str, raw: bytes) -> Record | None:
    """Return the record of a session from Redis; None if the site did not sign this record for this token.

    The salt contains the token's digest, so that a record is valid under its own key only.
    """
    try:
        record: Record = orjson.loads(raw)
        signature = record.pop("signature")
        _make_signer(digest).unsign(f"{_encode(record)}:{signature}")
    except (AttributeError, KeyError, TypeError, ValueError, BadSignature):  # it may be any JSON, or none
        return None
    return record


def _make_signer(digest: str) -> Signer:
    return Signer(salt=f"accounts.sessions.record:{digest}")  # also accepts ``SECRET_KEY_FALLBACKS``


def _encode(record: Record) -> str:
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode()


def has_expired(record: Record) -> bool:
    """Return whether a session has expired. Its row and its record exist until expired sessions are removed."""
    expires: float = record["expires"]
    return expires <= time.time()


class SessionReading(NamedTuple):
    """A session that was read.

    record: None if the session does not exist or has expired. last_seen: the last-seen time in Redis.
    companion_replies: the replies of companions (``accounts.sessions.companions``) by name; empty if Redis was not
    asked.
    """

    record: Record | None = None
    last_seen: float | None = None
    companion_replies: Mapping[str, Sequence[Any]] = {}


def read_session(digest: str) -> SessionReading:
    """Return an unexpired session, with one round trip.

    SQL confirms that a session does not exist: otherwise a change that has not reached Redis yet would make the browser
    delete its token, which logs the user out for good. It also answers for a record with a wrong signature, which a
    worker then writes again.
    """
    # No reader, because companions add commands of other applications, and their replies have their own conditions.
    reading = read(["session"], lambda pipe: add_commands(pipe, digest))
    raw, seen, *beside = reading.replies if reading else (None, None)
    record = None if raw is None else parse_record(digest, raw)
    if record is None and raw is not None:
        send.drain("session", [digest])
    if record is None or has_expired(record):
        row = load_sessions([digest]).get(digest)
        record = make_record(row) if row else None
    if record is None or has_expired(record):
        return SessionReading()
    return SessionReading(record, seen, companions.read_replies(beside) if reading else {})


def add_commands(pipe: RedisPipeline, digest: str) -> None:
    """Add the commands that read a session to a pipeline."""
    pipe.get(keys.session(digest))
    pipe.zscore(keys.recent(), digest)
    companions.add_commands(pipe, digest)
