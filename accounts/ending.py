"""Ending many sessions at once: what hangs on them first, then their rows, then what Redis says of them.

Each step may be the last that is taken, and the whole may be done again: who was ended half way is found by the
next ``clean`` (``accounts.cleaning``).
"""

import json
from collections.abc import Sequence
from typing import Any

from django.db import connections, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL

from accounts import tokens
from accounts.models import LastSeen, Session
from accounts.session_signals import sessions_ending
from mirror import registry, relay
from mirror.conf import setting

ALL = Q()
SLICE = 2000  # sessions in one transaction: nobody waits long for it


def end(redis: Any, digests: Sequence[str], *, only: Q = ALL) -> list[str]:
    """End up to ``SLICE`` sessions, or those of them for which ``only`` is still true. Returns their digests.

    Receivers of ``sessions_ending`` see to what hangs on them; if one raises, nobody's session ends. Raises
    redis-py's errors. Not to be called inside a transaction: the mirror is brought up to date at the end.
    """
    sessions_ending.send(sender=Session, digests=list(digests))
    ended = delete(digests, only=only)
    for mirror in registry.all_mirrors():
        if mirror.model is Session:
            relay.drain_keys(mirror.name, digests, redis=redis)  # also of rows that went before
    tokens.remove(redis, ended if only else digests)
    return ended


def delete(digests: Sequence[str], *, only: Q = ALL) -> list[str]:
    """Delete these rows, and when they were last seen. Returns the digests of those that were there.

    They are locked first, in the order in which the flusher of last-seen times locks them: it cannot write one for
    a session whose row is about to go, and neither can make the other fail. No signals: triggers tell the mirror.
    """
    using = str(setting("DATABASE"))
    with transaction.atomic(using=using):
        rows = Session.objects.using(using).filter(only, pk__in=_given(digests, using)).order_by("pk")
        ended = list(rows.select_for_update().values_list("pk", flat=True))
        LastSeen.objects.filter(session_id__in=_given(ended, using))._raw_delete(using)
        Session.objects.filter(pk__in=_given(ended, using))._raw_delete(using)
    return ended


def _given(digests: Sequence[str], using: str) -> RawSQL:
    """These digests as one parameter: thousands of them cost Django more than the deletion costs the database."""
    is_postgres = connections[using].vendor == "postgresql"
    sql = "SELECT jsonb_array_elements_text(%s::jsonb)" if is_postgres else "SELECT value FROM json_each(%s)"
    return RawSQL(sql, [json.dumps(list(digests))])
