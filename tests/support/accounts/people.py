"""Create users with login counts, and bring them to Redis."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from accounts.models import LoginStats, User
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from tests.support.warm_mirrors import rebuild

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def make_people(counts: Iterable[int], **fields: bool) -> list[User]:
    """Create one user per login count (0: never logged in); each last login is a minute after the previous user's.

    They show their logins to everyone.
    """
    counts, fields = list(counts), {"shows_logins": True, **fields}
    start = User.objects.count()
    people = User.objects.bulk_create(User(username=f"reader {start + n}", **fields) for n in range(len(counts)))
    LoginStats.objects.bulk_create(
        LoginStats(user=user, login_times=count, last_login_time=NOON + timedelta(minutes=start + n))
        for n, (user, count) in enumerate(zip(people, counts, strict=True))
        if count
    )
    return people


def warm_users() -> None:
    """Warm the mirrors of users and of blocks and mutes, and drain all pending changes."""
    rebuild(["user", "last_logins", "shun"])
    drain_all()


def assert_redis_equals_sql() -> None:
    """Check that Redis equals SQL for users and last logins."""
    drain_all()
    assert verify(["user", "last_logins"]) == []
