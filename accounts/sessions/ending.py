"""End many sessions at once: the rows with dependent data, then the entries in Redis.

A crash may happen after any step, and all steps can be repeated: the next run of
``accounts.sessions.cleaning`` finds sessions that were ended only in part.
"""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL

from accounts.models import LastSeen, Session
from accounts.sessions import last_seen
from accounts.sessions.signals import sessions_ending
from common.database import repeat_after_conflict
from mirror import registry
from mirror.conf import setting
from mirror.redis import RedisClient
from mirror.relay import drains
from mirror.utils import arrays

ANY_SESSION = Q()
SESSIONS_PER_SLICE = 2000  # sessions per transaction, which keeps locks short


def end_sessions(redis: RedisClient, digests: Sequence[str], *, only: Q = ANY_SESSION) -> list[str]:
    """End up to ``SLICE`` sessions, or those of them for which ``only`` still holds. Return the digests of ended ones.

    Receivers of ``sessions_ending`` handle dependent data in the same transaction; if one raises, no session ends.
    Raises redis-py's errors. Must not run inside a transaction, because it drains the mirror at the end.
    """
    ended = delete_sessions(digests, only=only, tell=True)
    for mirror in registry.all_mirrors():
        if mirror.model is Session:
            drains.drain_keys(mirror.name, digests, redis=redis)  # includes rows that an earlier run deleted
    # The time in Redis goes last: a process that does not find it asks SQL whether the session exists.
    last_seen.remove(redis, ended if only else digests)
    return ended


@repeat_after_conflict
def delete_sessions(digests: Sequence[str], *, only: Q = ANY_SESSION, tell: bool = False) -> list[str]:
    """Delete these sessions and their last-seen times. Return the digests of the deleted rows.

    tell: send ``sessions_ending`` for those that are deleted. They are locked then, so a receiver sees all that
    requests of these sessions wrote.

    The rows are locked first, in the order in which the consumer of last uses locks them. So it cannot write a
    time for a session that is being deleted, and neither makes the other fail. Triggers capture the changes; no
    signals are sent.
    """
    using = str(setting("DATABASE"))
    with transaction.atomic(using=using):
        rows = Session.objects.using(using).filter(only, pk__in=_digests_parameter(digests)).order_by("pk")
        ended = list(rows.select_for_update().values_list("pk", flat=True))
        # Under the locks, so that no request of these sessions writes anything that a receiver misses.
        if tell and ended:
            sessions_ending.send(sender=Session, digests=ended)
        # Raw deletions run no cascade, so the dependent times are deleted first. Triggers capture both.
        LastSeen.objects.filter(session_id__in=_digests_parameter(ended))._raw_delete(using)
        Session.objects.filter(pk__in=_digests_parameter(ended))._raw_delete(using)
    return ended


def _digests_parameter(digests: Sequence[str]) -> RawSQL:
    """Return the digests as one SQL parameter: thousands of single ones cost Django more than the deletion itself."""
    source, values = arrays.list_values(digests, "text")
    return RawSQL(f"SELECT value FROM {source}", values)
