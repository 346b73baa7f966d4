"""Last uses of sessions as visits: their entries in the stream, their rows in SQL, and the restore of ``recent:``."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from django.db import connections
from django.db.models.functions import Coalesce

from accounts import keys
from accounts.models import Session
from mirror.conf import setting
from mirror.redis import RedisClient, Script
from mirror.utils import arrays
from mirror.visits import Visit, VisitKind, register

_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)
_put_back_script = Script(Path(__file__).parent / "lua" / "put_back.lua")

# On PostgreSQL the sessions are locked against deletion until the commit, in the order in which deletions lock them:
# a row for a session that is being deleted would make the whole batch, or the deletion, fail.
_UPSERT: Final = """
    INSERT INTO accounts_lastseen (session_id, seen_at)
    SELECT session_key, given.at FROM {given}
      JOIN accounts_session ON session_key = given.digest WHERE TRUE ORDER BY session_key {lock}
    ON CONFLICT (session_id) DO UPDATE SET seen_at = excluded.seen_at
     WHERE excluded.seen_at > accounts_lastseen.seen_at
"""


class LastUse(NamedTuple):
    """The use of a session. digest: of its token."""

    digest: str
    seen_at: datetime


class LastSeenVisits(VisitKind):
    """Last uses of sessions. SQL and Redis keep the later time, with microseconds.

    A session without a time in SQL counts as seen at its creation. So ``recent:`` can hold every session, and the
    limit on sessions counts its members.
    """

    name = "last_seen"

    @property
    def beside(self) -> str:
        return keys.recent()

    def parse(self, fields: Mapping[str, str]) -> LastUse:
        return LastUse(fields["session"], _EPOCH + timedelta(microseconds=int(fields["at"])))

    def save(self, visits: Sequence[Visit]) -> None:
        # One row per session: an upsert may not change a row twice.
        times: dict[str, datetime] = {}
        for _, fact in visits:
            times[fact.digest] = max(fact.seen_at, times.get(fact.digest, fact.seen_at))
        given, parameters = arrays.make_table({"digest": "text", "at": "timestamptz"}, times.items())
        with connections[setting("DATABASE")].cursor() as cursor:
            lock = "FOR KEY SHARE OF accounts_session" if cursor.db.features.has_select_for_update else ""
            cursor.execute(_UPSERT.format(given=given, lock=lock), parameters)

    def restore(self, redis: RedisClient, after: str) -> str | None:
        size = int(setting("CHUNK"))
        rows = Session.objects.using(setting("DATABASE")).filter(pk__gt=after).order_by("pk")
        found = list(rows.values_list("pk", Coalesce("last_seen__seen_at", "created_at"))[:size])
        put_back(redis, dict(found))
        return found[-1][0] if len(found) == size else None


def put_back(redis: RedisClient, times: Mapping[str, datetime]) -> None:
    """Write last-seen times to ``recent:``, except where it has later ones or a session is being removed."""
    flat = [part for digest, seen_at in times.items() for part in (f"{seen_at.timestamp():.6f}", digest)]
    if flat:
        _put_back_script(redis, [keys.recent()], flat)


last_uses: Final = register(LastSeenVisits())
