"""Keeping the newest sessions, and ending those that have expired.

1. ``claim.lua`` claims the oldest sessions beyond the limit, a hundred at a time: their score becomes 0. From here on
   a touch of theirs is refused; whoever was touched before is no longer among the oldest. (After a loss of Redis what
   SQL knows is put back first, or somebody would be the oldest for want of memory.)
2. What is claimed is ended (``accounts.ending``): what hangs on it, its row in SQL, what the mirror shows of it.
3. What was claimed leaves ``recent:``.

Killed after any step, the next run finds the claimed ones first, by their score, and goes on. If Redis is lost in
between, they live on as SQL has them, or are gone as SQL has not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils import timezone

from accounts import keys, tokens
from accounts.backups import LastSeenBackup
from accounts.ending import SLICE, end
from accounts.models import Session
from accounts.tokens import LUA
from mirror.backup.restore import restore
from mirror.conf import setting
from mirror.redis import relay_client
from mirror.relay import Deadline
from mirror.scripts import Script

CLAIM = 100  # sessions in one call of the script
LIST = 1000  # digests in one reply

claim_script = Script(LUA / "claim.lua")
Progress = Callable[[str, int], object]


@dataclass
class Cleaned:
    """What was done: sessions ended for the limit, for their age, and digests that belonged to no session.

    left: how many sessions Redis knows now. over: how many of them are still to be removed.
    """

    limit: int
    removed: int = 0
    expired: int = 0
    strays: int = 0
    left: int = 0
    over: int = 0


def clean(
    limit: int, *, seconds: float | None = None, progress: Progress = lambda what, count: None, redis: Any = None
) -> Cleaned:
    """Keep the newest ``limit`` sessions; end the others, and those that have expired, as far as ``seconds`` allow.

    ``progress`` is told of each slice. Raises ValueError for a limit below 0, redis-py's errors when Redis is away.
    """
    if limit < 0:
        raise ValueError("the limit cannot be negative")
    redis, deadline, done = redis or relay_client(), Deadline(seconds), Cleaned(limit)
    steps = {"expired": _end_expired, "strays": _drop_strays}
    if restore(LastSeenBackup(), seconds, redis=redis).done:  # else it is not known yet who is the oldest
        steps["removed"] = _end_oldest
    for name, step in steps.items():
        while not deadline.passed() and (count := step(redis, limit)):
            setattr(done, name, getattr(done, name) + count)
            progress(name, count)
    count_left(redis, done)
    return done


def count_left(redis: Any, done: Cleaned) -> Cleaned:
    """Fill in how many sessions there are, and how many of them are to be removed. Changes nothing."""
    known, claimed = redis.zcard(keys.recent()), redis.zcount(keys.recent(), 0, 0)
    done.left, done.over = known, max(known - done.limit, claimed)
    return done


def expired() -> Q:
    """Sessions whose time has run out."""
    return Q(expire_date__lt=timezone.now())


def claim(redis: Any, limit: int) -> list[str]:
    """Claim up to a slice of the oldest sessions beyond the limit. Returns who is claimed now, by whomever."""
    claim_script.load(redis)
    pipe = redis.pipeline(transaction=False)
    calls = SLICE // CLAIM
    for _ in range(calls):
        claim_script.add(pipe, [keys.recent()], [limit, CLAIM])
    for start in range(0, SLICE, LIST):
        pipe.zrangebyscore(keys.recent(), 0, 0, start=start, num=LIST)
    return [digest.decode() for some in pipe.execute()[calls:] for digest in some]


def _end_oldest(redis: Any, limit: int) -> int:
    claimed = claim(redis, limit)
    if claimed:
        end(redis, claimed)
    return len(claimed)


def _end_expired(redis: Any, limit: int) -> int:
    rows = Session.objects.using(setting("DATABASE")).filter(expired()).order_by("expire_date")
    digests = list(rows.values_list("pk", flat=True)[:SLICE])
    # Who was given more time since then stays.
    return len(end(redis, digests, only=expired())) if digests else 0


def _drop_strays(redis: Any, limit: int) -> int:
    """Among the oldest: a digest without a session is never seen again, and gets there."""
    oldest = [digest.decode() for digest in redis.zrangebyscore(keys.recent(), "(0", "+inf", 0, LIST)]
    strays = list(LastSeenBackup().is_stray(oldest))
    if strays:
        tokens.remove(redis, strays)
    return len(strays)


def look(limit: int, redis: Any = None) -> Cleaned:
    """What ``clean`` would find. Changes nothing; one that has expired may be beyond the limit as well."""
    rows = Session.objects.using(setting("DATABASE")).filter(expired())
    return count_left(redis or relay_client(), Cleaned(limit, expired=rows.count()))
