"""Keep the newest sessions, and end expired sessions.

1. ``claim.lua`` claims the oldest sessions beyond the limit, 100 per call, by setting their score to 0. Redis refuses
   to touch a claimed session; a session that was touched just before is not among the oldest. (After a loss of Redis
   the times in SQL are restored first: a session without a time would pass for the oldest.)
2. ``accounts.sessions.ending`` ends the claimed sessions: dependent data, the rows in SQL, the entries of the mirror.
3. The claimed digests are removed from ``recent:``.

After a crash at any step the next run finds the claimed sessions first, by their score, and continues. If Redis is
lost in between, a session exists exactly if SQL still has its row.

A set of claims beside ``recent:`` could be lost without it. Deleting in Redis first would end sessions that are used
meanwhile (``tests/accounts/test_limit_threads.py``).
"""

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from accounts import keys
from accounts.models import Session
from accounts.sessions import last_seen
from accounts.sessions.ending import SESSIONS_PER_SLICE, end_sessions
from accounts.sessions.last_seen import LUA_DIR
from accounts.visits import last_uses
from mirror.conf import setting
from mirror.redis import RedisClient, Script, relay_client
from mirror.relay import Deadline
from mirror.utils import ProgressCallback, ignore
from mirror.visits import restore

CLAIMS_PER_CALL = 100  # sessions per call of the script
DIGESTS_PER_REPLY = 1000  # digests per reply

claim_script = Script(LUA_DIR / "claim.lua")


@dataclass
class CleaningReport:
    """The result of a run: numbers of sessions ended for the limit, of expired sessions, and of removed strays.

    left: the number of sessions in Redis now. over: the number of those that a later run has to remove.
    """

    limit: int
    removed: int = 0
    expired: int = 0
    strays: int = 0
    left: int = 0
    over: int = 0


def clean_sessions(
    limit: int,
    *,
    seconds: float | None = None,
    progress: ProgressCallback = ignore,
    redis: RedisClient | None = None,
) -> CleaningReport:
    """Keep the newest ``limit`` sessions, and end older and expired ones within a budget of ``seconds``.

    ``progress`` is called with a name and a number for each slice. Raises ValueError for a limit below 0, and
    redis-py's errors while Redis is away.
    """
    if limit < 0:
        raise ValueError("the limit cannot be negative")
    redis, deadline, done = redis or relay_client(), Deadline(seconds), CleaningReport(limit)
    steps = {"expired": _end_expired, "strays": _drop_strays}
    # Until all times are restored, the oldest sessions are not known.
    if restore(last_uses, seconds, redis=redis):
        steps["removed"] = _end_oldest
    for name, step in steps.items():
        while not deadline.passed() and (count := step(redis, limit)):
            setattr(done, name, getattr(done, name) + count)
            progress(name, count)
    count_remaining(redis, done)
    return done


def count_remaining(redis: RedisClient, done: CleaningReport) -> CleaningReport:
    """Fill in ``left`` and ``over`` from Redis and return the result. Nothing is removed."""
    # A claimed session has the score 0 until its row is deleted.
    known, claimed = redis.zcard(keys.recent()), redis.zcount(keys.recent(), 0, 0)
    done.left, done.over = known, max(known - done.limit, claimed)
    return done


def expired_condition() -> Q:
    """Return the condition for expired sessions."""
    return Q(expire_date__lt=timezone.now())


def claim_oldest(redis: RedisClient, limit: int) -> list[str]:
    """Claim up to one slice of the oldest sessions beyond the limit. Return all claimed digests, also of other runs."""
    claim_script.load(redis)
    pipe = redis.pipeline(transaction=False)
    calls = SESSIONS_PER_SLICE // CLAIMS_PER_CALL
    for _ in range(calls):
        claim_script.add(pipe, [keys.recent()], [limit, CLAIMS_PER_CALL])
    for start in range(0, SESSIONS_PER_SLICE, DIGESTS_PER_REPLY):
        pipe.zrangebyscore(keys.recent(), 0, 0, start=start, num=DIGESTS_PER_REPLY)
    return [digest.decode() for some in pipe.execute()[calls:] for digest in some]


def _end_oldest(redis: RedisClient, limit: int) -> int:
    claimed = claim_oldest(redis, limit)
    if claimed:
        end_sessions(redis, claimed)
    return len(claimed)


def _end_expired(redis: RedisClient, limit: int) -> int:
    rows = Session.objects.using(setting("DATABASE")).filter(expired_condition()).order_by("expire_date")
    digests = list(rows.values_list("pk", flat=True)[:SESSIONS_PER_SLICE])
    # A session that was prolonged in the meantime stays.
    return len(end_sessions(redis, digests, only=expired_condition())) if digests else 0


def _drop_strays(redis: RedisClient, limit: int) -> int:
    """Remove strays among the oldest digests: a digest without a session is never touched, so it becomes old."""
    oldest = [digest.decode() for digest in redis.zrangebyscore(keys.recent(), "(0", "+inf", 0, DIGESTS_PER_REPLY)]
    rows = Session.objects.using(setting("DATABASE")).filter(pk__in=oldest)
    alive = set(rows.values_list("pk", flat=True))
    if strays := [digest for digest in oldest if digest not in alive]:
        last_seen.remove(redis, strays)
    return len(strays)


def preview_cleaning(limit: int, redis: RedisClient | None = None) -> CleaningReport:
    """Return the numbers that ``clean`` would find, without changes. An expired session may count in ``over`` too."""
    rows = Session.objects.using(setting("DATABASE")).filter(expired_condition())
    return count_remaining(redis or relay_client(), CleaningReport(limit, expired=rows.count()))
