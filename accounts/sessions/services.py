"""End sessions."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Session, User, new_secret
from accounts.sessions import ending, last_seen
from common.database import repeat_after_conflict
from mirror.relay import hint
from mirror.utils import after_commit

SESSIONS_PER_TRANSACTION = 500  # sessions per transaction


@repeat_after_conflict
def end_by_digest(digests: Sequence[str]) -> int:
    """End these sessions of any users: delete their rows, and after the commit their times in Redis.

    Return the number of ended sessions.
    """
    with transaction.atomic():
        gone = ending.delete_sessions(digests, tell=True)
        hint("session", "", gone)
        # After the commit: a session whose end is rolled back must keep its time, or it would pass for the oldest.
        after_commit(last_seen.forget, list(digests))
    return len(gone)


def delete_session_rows(digests: Sequence[str]) -> int:
    """Delete only the rows of these sessions. Return the number of deleted rows."""
    gone = ending.delete_sessions(digests)
    hint("session", "", gone)
    return len(gone)


def end_session(user: User, digest: str) -> bool:
    """End one session of the user. Return False if the user has no such session."""
    return _end_in_batches(Session.objects.filter(user=user, pk=digest)) == 1


def end_other_sessions(user: User, keep: str | None) -> int:
    """End all sessions of the user except ``keep`` (None: all). Return the number of ended sessions."""
    return _end_in_batches(Session.objects.filter(user=user).exclude(pk=keep or ""))


def end_all_sessions(user: User) -> int:
    """Log the user out everywhere. The new secret alone ends all sessions; deleting their rows only cleans up."""
    secret = new_secret()
    # First the secret, which ends all sessions at once. The deletions take several transactions, and may be
    # interrupted.
    User.objects.filter(pk=user.pk).update(session_secret=secret)
    user.session_secret = secret
    return end_other_sessions(user, None)


def end_query(sessions: "QuerySet[Session]") -> int:
    """End all sessions of a query, in batches. Return the number of ended sessions."""
    return _end_in_batches(sessions)


def _end_in_batches(sessions: "QuerySet[Session]") -> int:
    total = 0
    while digests := list(sessions.order_by("pk").values_list("pk", flat=True)[:SESSIONS_PER_TRANSACTION]):
        total += end_by_digest(digests)
    return total
