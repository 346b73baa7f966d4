"""The limit on sessions removes the oldest sessions completely, and none that is in use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from redis import Redis

from accounts import keys
from accounts.models import LastSeen, Session, User
from accounts.sessions import cleaning, ending, last_seen
from accounts.sessions.cleaning import clean_sessions
from accounts.sessions.signals import sessions_ending
from accounts.visits import last_uses
from mirror.models import Change
from mirror.relay import drains
from mirror.visits import consume
from tests.support.accounts.digests import (
    digest,
    make_sessions,
    read_recent_digests,
    read_stored_digests,
    set_last_seen,
)

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def receiving(receiver: Callable[[list[str]], None]) -> Iterator[None]:
    """Connect ``receiver`` to the signal of ending sessions during the block."""

    def receive(digests: list[str], **kwargs: Any) -> None:
        receiver(digests)

    sessions_ending.connect(receive)
    try:
        yield
    finally:
        sessions_ending.disconnect(receive)


def test_the_oldest_sessions_are_removed_from_redis_and_sql(redis: Redis) -> None:
    user = User.objects.create_user("alice", password="x")
    sessions = make_sessions(250)
    Session.objects.update(user=user)
    drains.drain_all()
    assert redis.hlen(keys.tokens()) == 250
    set_last_seen(redis, sessions)
    for session in sessions[100:120]:
        last_seen.touch(session, 1.0)
    done = clean_sessions(120)
    stay = set(sessions[100:120] + sessions[150:])
    assert (done.removed, done.left, done.over) == (130, 120, 0)
    assert read_recent_digests(redis) == read_stored_digests() == stay
    assert {field.decode() for field in redis.hkeys(keys.tokens())} == stay
    assert redis.exists(*[keys.session(session) for session in sessions]) == 120


def test_nothing_is_removed_within_the_limit(redis: Redis) -> None:
    sessions = make_sessions(3)
    set_last_seen(redis, sessions)
    assert clean_sessions(3).removed == 0
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions)


def test_a_limit_of_zero_ends_all_sessions(redis: Redis) -> None:
    set_last_seen(redis, make_sessions(3))
    assert clean_sessions(0).removed == 3
    assert read_recent_digests(redis) == read_stored_digests() == set()


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        clean_sessions(-1)


def test_many_sessions_are_removed_in_slices(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "SESSIONS_PER_SLICE", 200)
    sessions = make_sessions(1000)
    set_last_seen(redis, sessions)
    told: list[tuple[str, int]] = []
    assert clean_sessions(350, progress=lambda what, count: told.append((what, count))).removed == 650
    assert told == [("removed", 200)] * 3 + [("removed", 50)]
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions[650:])


def test_a_run_stops_when_its_budget_is_spent(redis: Redis) -> None:
    sessions = make_sessions(10)
    set_last_seen(redis, sessions)
    assert clean_sessions(5).removed == 5  # the first run restores the times
    done = clean_sessions(2, seconds=0)
    assert (done.removed, done.left, done.over) == (0, 5, 3)


def test_a_session_with_a_waiting_visit_is_removed_with_its_times(redis: Redis) -> None:
    old, new = make_sessions(2)
    last_seen.begin(old)
    LastSeen.objects.create(session_id=old, seen_at=timezone.now())
    last_seen.begin(new)
    assert clean_sessions(1).removed == 1
    assert read_recent_digests(redis) == read_stored_digests() == {new}
    consume(last_uses)
    assert list(LastSeen.objects.values_list("pk", flat=True)) == [new]


def test_expired_sessions_end_even_if_just_seen(redis: Redis) -> None:
    expired, others = make_sessions(30, expired=True), make_sessions(5, start=30)
    set_last_seen(redis, others)
    for session in expired:
        last_seen.begin(session)
    done = clean_sessions(5)
    assert (done.expired, done.removed) == (30, 0)
    assert read_recent_digests(redis) == read_stored_digests() == set(others)
    consume(last_uses)
    assert not LastSeen.objects.exists()


def test_a_session_prolonged_at_the_last_moment_stays(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_sessions(2, expired=True)
    set_last_seen(redis, [first, second])
    end_sessions, told = ending.end_sessions, list[str]()

    def give_time(*args: Any, **kwargs: Any) -> list[str]:
        Session.objects.filter(pk=first).update(expire_date=timezone.now() + timedelta(days=1))
        return end_sessions(*args, **kwargs)

    monkeypatch.setattr(cleaning, "end_sessions", give_time)
    with receiving(told.extend):
        assert clean_sessions(5).expired == 1
    assert told == [second], "its cart stays as well"
    assert read_recent_digests(redis) == read_stored_digests() == {first}


def test_strays_do_not_count_toward_the_limit(redis: Redis) -> None:
    sessions = make_sessions(3)
    set_last_seen(redis, [*(digest(n) for n in range(10, 15)), *sessions])
    done = clean_sessions(3)
    assert (done.strays, done.removed) == (5, 0)
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions)


def test_receivers_run_while_the_rows_still_exist(redis: Redis) -> None:
    sessions = make_sessions(4)
    set_last_seen(redis, sessions)
    seen: list[tuple[set[str], set[str], list[bool]]] = []

    def look(digests: list[str]) -> None:
        seen.append((set(digests), read_stored_digests(), [last_seen.touch(d, 1.0) for d in digests]))

    with receiving(look):
        clean_sessions(1)
    assert seen == [(set(sessions[:3]), set(sessions), [False] * 3)]


def test_a_failed_receiver_keeps_the_sessions_for_the_next_run(redis: Redis) -> None:
    sessions = make_sessions(4)
    set_last_seen(redis, sessions)

    def fail(digests: list[str]) -> None:
        raise RuntimeError("the cart cannot be saved")

    with receiving(fail), pytest.raises(RuntimeError):
        clean_sessions(1)
    assert read_stored_digests() == read_recent_digests(redis) == set(sessions)
    clean_sessions(1)
    assert read_stored_digests() == read_recent_digests(redis) == {sessions[3]}


def test_after_a_loss_of_redis_the_times_in_sql_decide(redis: Redis) -> None:
    """Redis came back empty, and only the oldest session had a request since then."""
    sessions = make_sessions(6)
    for number, session in enumerate(sessions):
        seen_at = timezone.now() - timedelta(hours=6 - number)
        LastSeen.objects.create(session_id=session, seen_at=seen_at)
    last_seen.touch(sessions[0], None)
    clean_sessions(4)
    assert read_recent_digests(redis) == read_stored_digests() == {sessions[0], *sessions[3:]}


def test_redis_emptied_during_a_run_leaves_no_half_removed_session(redis: Redis) -> None:
    sessions = make_sessions(300)
    drains.drain_all()
    set_last_seen(redis, sessions)

    def lose(digests: list[str]) -> None:
        redis.flushall()

    with receiving(lose):
        clean_sessions(100)
    drains.drain_all()
    clean_sessions(300)
    assert read_recent_digests(redis) == read_stored_digests()
    assert read_stored_digests() in (set(sessions), set(sessions[200:]))


def test_a_run_leaves_no_pending_changes(redis: Redis) -> None:
    set_last_seen(redis, make_sessions(50))
    drains.drain_all()
    clean_sessions(10)
    assert not Change.objects.pending().exists()
