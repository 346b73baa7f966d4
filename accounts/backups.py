"""The backup of last-seen times of sessions: Redis has them first, SQL within half a minute."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connections
from django.utils.translation import gettext_lazy as _

from accounts import keys
from accounts.models import Session
from accounts.sessions import last_seen
from mirror.backup import Backup, register
from mirror.conf import setting
from mirror.redis import RedisClient, RedisPipeline, Script
from mirror.utils import arrays

_put_back_script = Script(Path(__file__).parent / "lua" / "put_back.lua")
_EPOCH = datetime.fromtimestamp(0, tz=UTC)
_MICROSECOND = timedelta(microseconds=1)
SCAN_COUNT = 1000

# On PostgreSQL the sessions are locked against deletion until the commit, in the order in which deletions lock them:
# a row for a session that is being deleted would make the whole batch, or the deletion, fail.
_UPSERT = """
    INSERT INTO accounts_lastseen (session_id, seen_at)
    SELECT session_key, given.at FROM {given}
      JOIN accounts_session ON session_key = given.digest WHERE TRUE ORDER BY session_key {lock}
    ON CONFLICT (session_id) DO UPDATE SET seen_at = excluded.seen_at
     WHERE excluded.seen_at > accounts_lastseen.seen_at
"""


@register
class LastSeenBackup(Backup):
    """Items are digests of tokens; values are times in microseconds since 1970, which both sides store exactly.

    A session without a time in SQL counts as seen at its creation. So ``recent:`` can hold every session, and the
    limit on sessions counts its members.
    """

    name = "last_seen"
    label = _("last uses of sessions")
    every_seconds = 30.0
    whole = True

    def marks(self) -> str:
        return keys.recent_marks()

    def ask(self, pipe: RedisPipeline, items: Sequence[str]) -> None:
        pipe.zmscore(keys.recent(), list(items))

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, int]:
        # Score 0 marks a session that is being removed: it has no time to save.
        return {item: round(score * 1e6) for item, score in zip(items, replies[0], strict=True) if score}

    def save(self, values: Mapping[str, int | None]) -> None:
        times = {item: _EPOCH + value * _MICROSECOND for item, value in values.items() if value is not None}
        given, parameters = arrays.make_table({"digest": "text", "at": "timestamptz"}, times.items())
        with connections[setting("DATABASE")].cursor() as cursor:
            lock = "FOR KEY SHARE OF accounts_session" if cursor.db.features.has_select_for_update else ""
            cursor.execute(_UPSERT.format(given=given, lock=lock), parameters)

    def load(self, items: Sequence[str]) -> Mapping[str, int]:
        rows = Session.objects.using(setting("DATABASE")).filter(pk__in=items)
        return {
            item: ((seen_at or created_at) - _EPOCH) // _MICROSECOND
            for item, seen_at, created_at in rows.values_list("pk", "last_seen__seen_at", "created_at")
        }

    def put_back(self, redis: RedisClient, values: Mapping[str, int]) -> None:
        flat = [part for item, value in values.items() for part in (f"{value / 1e6:.6f}", item)]
        if flat:
            _put_back_script(redis, [keys.recent()], flat)

    def items_after(self, after: str | None, limit: int) -> list[str]:
        rows = Session.objects.using(setting("DATABASE")).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=after)
        return list(rows.values_list("pk", flat=True)[:limit])

    def scan(self, redis: RedisClient) -> Iterator[list[str]]:
        cursor = -1
        while cursor != 0:
            cursor, found = redis.zscan(keys.recent(), max(cursor, 0), count=SCAN_COUNT)
            yield [item.decode() for item, _ in found]

    def drop(self, redis: RedisClient, items: Sequence[str]) -> None:
        last_seen.remove(redis, items)

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        rows = Session.objects.using(setting("DATABASE")).filter(pk__in=items)
        alive = set(rows.values_list("pk", flat=True))
        return [item for item in items if item not in alive]
