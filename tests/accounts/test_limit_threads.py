"""Sessions in use survive the limit: eight threads touch the oldest sessions while it is enforced.

For comparison, the naive method (list the oldest, then delete them) loses some sessions.
"""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from redis import Redis

from accounts import keys
from accounts.sessions import cleaning, ending, last_seen
from accounts.sessions.cleaning import clean_sessions
from mirror.redis.clients import client
from tests.support.accounts.digests import make_sessions, read_recent_digests, read_stored_digests, set_last_seen
from tests.support.servers import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
COUNT, LIMIT, THREADS, AT_MOST = 3000, 1500, 8, 1000


class Crowd:
    """Threads that touch old sessions. acknowledged: the sessions for which ``touch`` returned True.

    The threads begin at the first call of ``wait_for_touches``: otherwise all their touches could happen before the
    limit is enforced.
    """

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.refused: set[str] = set()
        self._begin, self._stop = threading.Event(), threading.Event()

    def touch(self, seed: int) -> None:
        """Touch sessions until the end, or until the limit would reach touched sessions."""
        picked = random.Random(seed)
        self._begin.wait()
        while not self._stop.is_set() and len(self.acknowledged) < AT_MOST:
            oldest = client().zrange(keys.recent(), 0, 199)
            session = picked.choice(oldest).decode()
            (self.acknowledged if last_seen.touch(session, 1.0) else self.refused).add(session)

    def wait_for_touches(self, *args: Any, **kwargs: Any) -> None:
        """Wait until a few more sessions are touched, or no thread touches any more."""
        self._begin.set()
        before = len(self.acknowledged) + len(self.refused)
        wait_until(
            lambda: len(self.acknowledged) + len(self.refused) >= before + THREADS or len(self.acknowledged) >= AT_MOST,
            "touches",
        )

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Run the threads during the block."""

        def run(seed: int) -> None:
            try:
                self.touch(seed)
            finally:
                connection.close()

        with ThreadPoolExecutor(THREADS) as pool:
            done = [pool.submit(run, seed) for seed in range(THREADS)]
            try:
                yield
            finally:
                self._stop.set()
                self._begin.set()
            for each in done:
                each.result()


def plain_clean(redis: Redis, limit: int, between: Callable[[], object] = lambda: None) -> None:
    """List the 100 oldest sessions, then delete them: the naive method."""
    while (beyond := redis.zcard(keys.recent()) - limit) > 0:
        oldest = [digest.decode() for digest in redis.zrange(keys.recent(), 0, min(beyond, 100) - 1)]
        between()
        ending.delete_sessions(oldest)
        last_seen.remove(redis, oldest)


def test_acknowledged_sessions_are_never_removed(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "SESSIONS_PER_SLICE", 100)
    sessions, crowd = make_sessions(COUNT), Crowd()
    set_last_seen(redis, sessions)
    clean_sessions(COUNT)
    real = ending.delete_sessions

    def delete(*args: Any, **kwargs: Any) -> list[str]:
        crowd.wait_for_touches()
        return real(*args, **kwargs)

    monkeypatch.setattr(ending, "delete_sessions", delete)
    with crowd.at_work():
        done = clean_sessions(LIMIT)
    assert len(crowd.acknowledged) >= THREADS
    assert crowd.refused
    assert crowd.acknowledged <= read_recent_digests(redis)
    assert read_recent_digests(redis) == read_stored_digests()
    assert (done.removed, len(read_stored_digests())) == (COUNT - LIMIT, LIMIT)


def test_the_naive_method_removes_acknowledged_sessions(redis: Redis) -> None:
    sessions, crowd = make_sessions(COUNT), Crowd()
    set_last_seen(redis, sessions)
    with crowd.at_work():
        plain_clean(redis, LIMIT, between=crowd.wait_for_touches)
    assert crowd.acknowledged - read_stored_digests()


def test_the_naive_method_loses_a_touch_between_its_steps(redis: Redis) -> None:
    sessions = make_sessions(150)
    set_last_seen(redis, sessions)
    acknowledged = []
    plain_clean(redis, 50, between=lambda: acknowledged.append(last_seen.touch(sessions[7], 1.0)))
    assert acknowledged == [True]
    assert sessions[7] not in read_stored_digests()


@pytest.mark.parametrize(
    "step", ["claim_oldest", "sessions_ending.send", "delete_sessions", "drains.drain_keys", "last_seen.remove"]
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_touch_between_any_two_steps_is_kept_or_refused(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, step: str, when: str
) -> None:
    sessions = make_sessions(150)
    set_last_seen(redis, sessions)
    clean_sessions(150)
    acknowledged: list[bool] = []
    place: Any = cleaning if step == "claim_oldest" else ending
    *owner, name = step.split(".")
    place = getattr(place, owner[0]) if owner else place
    real = getattr(place, name)

    def stepped(*args: Any, **kwargs: Any) -> Any:
        if when == "before" and not acknowledged:
            acknowledged.append(last_seen.touch(sessions[7], 1.0))
        done = real(*args, **kwargs)
        if when == "after" and not acknowledged:
            acknowledged.append(last_seen.touch(sessions[7], 1.0))
        return done

    monkeypatch.setattr(place, name, stepped)
    clean_sessions(50)
    assert acknowledged == [(step, when) == ("claim_oldest", "before")]
    assert (sessions[7] in read_stored_digests()) is acknowledged[0]
    assert read_recent_digests(redis) == read_stored_digests()
    assert len(read_stored_digests()) == 50


def test_two_concurrent_runs_remove_no_more_than_one(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "SESSIONS_PER_SLICE", 200)
    sessions = make_sessions(COUNT)
    set_last_seen(redis, sessions)
    clean_sessions(COUNT)

    def run() -> None:
        try:
            clean_sessions(LIMIT)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(run), pool.submit(run)]:
            done.result()
    assert read_recent_digests(redis) == read_stored_digests() == set(sessions[COUNT - LIMIT :])
