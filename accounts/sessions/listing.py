"""The list of a user's own sessions: device, start time and last use of each."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from accounts import keys
from accounts.models import Session
from accounts.sessions import devices
from accounts.sessions.rows import has_expired, parse_record
from mirror import Record
from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisPipeline

MAX_SESSIONS: Final = 100  # sessions on the page
HANDLE_LENGTH: Final = 16  # characters of a digest that identify a session in a form
HANDLE_PATTERN: Final = re.compile(f"[0-9a-f]{{{HANDLE_LENGTH}}}")
JUST_NOW_SECONDS: Final = 120  # seconds, because times are recorded once a minute


@dataclass(frozen=True)
class SessionLine:
    """One session. handle: identifies it among the sessions of its owner. last_seen: None if unknown."""

    handle: str
    device: str
    since: datetime
    last_seen: datetime | None
    is_present: bool

    @property
    def device_in_words(self) -> str:
        """Return the device in the active language."""
        return devices.describe_device(self.device)

    @property
    def use_in_words(self) -> str:
        """Return the time of the last use in words, in the active language."""
        if self.is_present:
            return _("active now")
        if self.last_seen is None:
            return _("last use unknown")
        if (timezone.now() - self.last_seen).total_seconds() < JUST_NOW_SECONDS:
            return _("last used just now")
        return _("last used %(ago)s ago") % {"ago": timesince(self.last_seen, depth=1)}


def make_handle(digest: str) -> str:
    """Return the handle of a session in forms: enough of its digest to distinguish the sessions of one user."""
    return digest[:HANDLE_LENGTH]


def list_sessions(user_id: int, present: str) -> list[SessionLine]:
    """Return the unexpired sessions of a user, newest first: at most 100, and always the ``present`` one (a digest).

    2 round trips and no SQL while the mirror is warm.
    """
    lines = _list_from_redis(user_id, present)
    return _list_from_sql(user_id, present) if lines is None else lines


def find_session(user_id: int, handle: str) -> str | None:
    """Return the digest of the user's session with this handle; None if the user has no such session."""
    if not HANDLE_PATTERN.fullmatch(handle):
        return None
    found = Session.objects.filter(user_id=user_id, pk__startswith=handle)
    return found.values_list("pk", flat=True).first()


def _list_from_redis(user_id: int, present: str) -> list[SessionLine] | None:
    listed = read(["session"], lambda pipe: pipe.zrevrange(keys.sessions_of(user_id), 0, MAX_SESSIONS - 1))
    if listed is None:
        return None
    digests = [digest.decode() for digest in listed.replies[0]]
    if present not in digests:
        digests.append(present)

    def ask(pipe: RedisPipeline) -> None:
        pipe.mget(list(map(keys.session, digests)))
        pipe.zmscore(keys.recent(), digests)

    reading = read(["session"], ask)
    if reading is None:
        return None
    records, seen = list[Record](), list[float | None]()
    for digest, raw, score in zip(digests, *reading.replies, strict=True):
        if raw is None:  # it ended between the round trips
            continue
        record = parse_record(digest, raw)
        if record is None:  # its signature is wrong
            return None
        records.append(record)
        seen.append(score)
    return list(_make_lines(user_id, present, records, seen))


def _make_lines(
    user_id: int, present: str, records: Sequence[Record], scores: Sequence[float | None]
) -> Iterable[SessionLine]:
    for record, score in zip(records, scores, strict=True):
        if not has_expired(record) and record["user"] and record["user"]["id"] == user_id:
            yield SessionLine(
                make_handle(record["digest"]),
                record["device"],
                datetime.fromtimestamp(record["since"], tz=UTC),
                datetime.fromtimestamp(score, tz=UTC) if score else None,
                record["digest"] == present,
            )


def _list_from_sql(user_id: int, present: str) -> list[SessionLine]:
    alive = Session.objects.using(setting("DATABASE")).filter(user_id=user_id, expire_date__gt=timezone.now())
    rows = list(alive.select_related("last_seen").order_by("-created_at", "-pk")[:MAX_SESSIONS])
    if all(row.pk != present for row in rows):
        rows += alive.select_related("last_seen").filter(pk=present)
    return [
        SessionLine(
            make_handle(row.pk),
            row.device,
            row.created_at,
            row.last_seen.seen_at if hasattr(row, "last_seen") else None,
            row.pk == present,
        )
        for row in rows
    ]
