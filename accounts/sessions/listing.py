"""The list of a user's own sessions: device, start time and last use of each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from accounts import keys
from accounts.models import Session
from accounts.sessions import devices
from accounts.sessions.rows import has_expired, parse_record
from mirror import AskSql, Question, answer
from mirror.conf import setting
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

    2 round trips and no SQL while the mirror is warm, otherwise 2 statements of SQL.
    """
    digests = answer(_ask_for_digests(user_id))
    if present not in digests:
        digests.append(present)
    return [_make_line(use, present) for use in answer(_ask_for_uses(user_id, digests))]


def find_session(user_id: int, handle: str) -> str | None:
    """Return the digest of the user's session with this handle; None if the user has no such session."""
    if not HANDLE_PATTERN.fullmatch(handle):
        return None
    found = Session.objects.filter(user_id=user_id, pk__startswith=handle)
    return found.values_list("pk", flat=True).first()


def _ask_for_digests(user_id: int) -> Question[list[str]]:
    """Return the question for the digests of a user's newest sessions."""
    return Question(
        ["session"],
        lambda pipe: pipe.zrevrange(keys.sessions_of(user_id), 0, MAX_SESSIONS - 1),
        lambda replies: [digest.decode() for digest in replies[0]],
        lambda: _find_newest_in_sql(user_id),
    )


def _find_newest_in_sql(user_id: int) -> list[str]:
    alive = Session.objects.using(setting("DATABASE")).filter(user_id=user_id, expire_date__gt=timezone.now())
    return list(alive.order_by("-created_at", "-pk").values_list("pk", flat=True)[:MAX_SESSIONS])


class _Use(NamedTuple):
    """The use of a session. Times are in seconds since 1970; last_seen is None or 0 if it is unknown."""

    digest: str
    device: str
    since: float
    last_seen: float | None


def _ask_for_uses(user_id: int, digests: Sequence[str]) -> Question[list[_Use]]:
    """Return the question for these sessions in their order, without those of other users and expired ones."""

    def ask(pipe: RedisPipeline) -> None:
        pipe.mget(list(map(keys.session, digests)))
        pipe.zmscore(keys.recent(), list(digests))

    def decode(replies: list[Any]) -> list[_Use]:
        uses: list[_Use] = []
        for digest, raw, last_seen in zip(digests, *replies, strict=True):
            if raw is None:  # the session ended between the round trips
                continue
            record = parse_record(digest, raw)
            if record is None:  # the site did not sign it
                raise AskSql
            user = record["user"]
            if user and user["id"] == user_id and not has_expired(record):
                uses.append(_Use(record["digest"], record["device"], record["since"], last_seen))
        return uses

    # No reader, because a record counts only with the site's signature.
    return Question(["session"], ask, decode, lambda: _load_uses_from_sql(user_id, digests))


def _load_uses_from_sql(user_id: int, digests: Sequence[str]) -> list[_Use]:
    alive = Session.objects.using(setting("DATABASE")).filter(user_id=user_id, expire_date__gt=timezone.now())
    sessions = {row.pk: row for row in alive.filter(pk__in=digests).select_related("last_seen")}
    uses: list[_Use] = []
    for digest in digests:
        if row := sessions.get(digest):
            last_seen = row.last_seen.seen_at.timestamp() if hasattr(row, "last_seen") else None
            uses.append(_Use(digest, row.device, row.created_at.timestamp(), last_seen))
    return uses


def _make_line(use: _Use, present: str) -> SessionLine:
    return SessionLine(
        make_handle(use.digest),
        use.device,
        datetime.fromtimestamp(use.since, tz=UTC),
        datetime.fromtimestamp(use.last_seen, tz=UTC) if use.last_seen else None,
        use.digest == present,
    )
