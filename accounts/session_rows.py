"""Sessions as each request wants them: with what it asks of their user, from Redis or from SQL, in the same form."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from django.contrib.auth.models import Group
from django.db.models import Model

from accounts import companions, keys
from accounts.models import Session, User
from mirror.conf import setting
from mirror.declare import Record
from mirror.read import read

NO_RIGHTS = ""  # of those who are not staff, and in no group


class SessionRow(NamedTuple):
    """What SQL says of a session. ``rights``: of its user."""

    session: Session
    rights: str


def digest_of(token: str) -> str:
    """What is stored of a token: its SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def load_sessions(digests: Sequence[str]) -> dict[str, SessionRow]:
    """Sessions by digest, expired ones too; four queries at most, however many."""
    found = Session.objects.using(setting("DATABASE")).filter(pk__in=digests).select_related("user")
    sessions = list(found)
    rights = rights_of(session.user for session in sessions if session.user)
    return {s.pk: SessionRow(s, rights[s.user_id] if s.user_id else NO_RIGHTS) for s in sessions}


def rights_of(users: Iterable[User]) -> dict[int, str]:
    """What each user may do, as a short digest: of staff, superuser, groups and permissions. Three queries."""
    people = {user.pk: user for user in users}
    if not people:
        return {}
    groups = _links(User.groups.through, "user_id", "group_id", people)
    own = _links(User.user_permissions.through, "user_id", "permission_id", people)
    granted = _links(Group.permissions.through, "group_id", "permission_id", {g for of in groups.values() for g in of})
    return {
        pk: _digest(user, sorted(groups[pk]), sorted(own[pk]), sorted({p for g in groups[pk] for p in granted[g]}))
        for pk, user in people.items()
    }


def _links(through: type[Model], one: str, other: str, pks: Iterable[int]) -> dict[int, list[int]]:
    links: dict[int, list[int]] = defaultdict(list)
    rows = through._base_manager.using(setting("DATABASE")).filter(**{f"{one}__in": list(pks)})
    for left, right in rows.values_list(one, other):
        links[left].append(right)
    return links


def _digest(user: User, *lists: list[int]) -> str:
    if not (user.is_staff or user.is_superuser or any(lists)):
        return NO_RIGHTS
    return hashlib.sha256(json.dumps([user.is_staff, user.is_superuser, *lists]).encode()).hexdigest()[:16]


def record_of(row: SessionRow) -> Record:
    """The record of a session. Times are in seconds since 1970."""
    session, user = row.session, row.session.user
    return {
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
            "auth": user.get_session_auth_hash(),
            "rights": row.rights,
        },
    }


def has_expired(record: Record) -> bool:
    """Whether a session is over by itself. (Its row, and its record, go when expired sessions are cleared.)"""
    expires: float = record["expires"]
    return expires <= time.time()


class Found(NamedTuple):
    """What was asked of a session. record: None if there is none that goes on; seen: when it was last seen, as far as
    Redis was asked; said: what was asked beside it (``accounts.companions``), by name; empty: Redis was not asked.
    """

    record: Record | None = None
    seen: float | None = None
    said: Mapping[str, Sequence[Any]] = {}


def find(digest: str) -> Found:
    """A session that has not expired. One round trip.

    That there is none is not believed of Redis alone: the browser would be told to forget its token, and a change that
    has not arrived yet would have logged somebody out for good.
    """
    reading = read(["session"], lambda pipe: ask(pipe, digest))
    raw, seen, *beside = reading.replies if reading else (None, None)
    record: Record | None = orjson.loads(raw) if raw else None
    if record is None or has_expired(record):
        row = load_sessions([digest]).get(digest)
        record = record_of(row) if row else None
    if record is None or has_expired(record):
        return Found()
    return Found(record, seen, companions.said(beside) if reading else {})


def ask(pipe: Any, digest: str) -> None:
    """Add the commands that are asked of a session."""
    pipe.get(keys.session(digest))
    pipe.zscore(keys.recent(), digest)
    companions.ask(pipe, digest)
