"""Copies of a mirror's entries in the process, for questions that Redis answers slowly (tag algebra).

A copy is used only while it is current. In one round trip the reader fetches its own data *and* the mirror's feed
from the last entry that the copy has applied. If there are no newer entries, the answer computed beforehand is
valid (1 round trip). Otherwise they are applied and the answer is computed again (2). If the feed no longer has the
last entry, or the mirror was rebuilt, a thread loads the copy again, and SQL answers meanwhile.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from mirror import registry
from mirror.declare.entries import Contribution, Entry
from mirror.outbox.identity import database_identity
from mirror.read import loading
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import RedisError, breaker, relay_client
from mirror.redis.types import RedisClient, RedisPipeline
from mirror.relay import sql_only
from mirror.warm import marker

logger = logging.getLogger("mirror")
COPY_WAIT_SECONDS: Final = 10.0  # how long ``LocalCopy.ensure_loaded`` waits
COPY_RETRY_SECONDS: Final = 1.0  # how long a local copy waits after a failed load

MAX_ENTRIES = 200  # feed entries that a request applies; more are left to the thread
CATCH_UP = 2000  # feed entries that are cheaper to apply than a new load
SLICE = 20  # feed entries applied at a time, to hold the lock briefly


class Structure(Protocol):
    """The data structure of a copy. Adding an existing entry and removing a missing one must be harmless."""

    def add(self, entry: Entry) -> None:
        """Add ``entry``. The newest score of a scored entry counts."""

    def remove(self, entry: Entry) -> None:
        """Remove ``entry``."""


S = TypeVar("S", bound=Structure)
A = TypeVar("A")
FeedEntries = list[tuple[bytes, dict[bytes, bytes]]]


class NotNow(Exception):
    """The copy cannot be loaded or updated at present."""


@dataclass
class _Held(Generic[S]):
    """The structure after feed entry ``last``, in the mirror's generation."""

    structure: S
    last: bytes
    generations: tuple[str, ...]


class LocalCopy(Generic[S]):
    """A copy of all entries of the mirror ``name``.

    rows: returns the key of a sorted set, written by the mirror, with every row's key as a member. build: builds
    the structure from all entries. others: returns further mirrors to include, with their rows. They write to the
    same feed, and the copy is used only while all are warm.
    """

    def __init__(
        self,
        name: str,
        rows: Callable[[], str],
        build: Callable[[Iterable[Contribution]], S],
        others: Callable[[], Mapping[str, Callable[[], str]]] = dict,
    ) -> None:
        self.name, self._rows, self._build, self._others = name, rows, build, others
        self._held: _Held[S] | None = None
        self._lock = threading.Lock()  # protects ``_held.structure`` and ``_held.last``
        self._starting = threading.Lock()
        self._worker: threading.Thread | None = None
        self._retry_at = 0.0
        self._reason = ""  # of the last failed load, to log each one once

    def ask(
        self, compute: Callable[[S], A], commands: Callable[[RedisPipeline, A], object], mirrors: Sequence[str] = ()
    ) -> tuple[A, list[Any]] | None:
        """Return the result of ``compute`` for the structure and the replies to ``commands``; None: ask SQL.

        ``compute`` runs under a lock and must return data that later changes do not touch. ``commands(pipe,
        answer)`` adds further reads of Redis. mirrors: further mirrors that these reads need. At most 2 round trips;
        none without a copy.
        """
        if sql_only.wanted((*self._sources(), *mirrors)) or breaker.open():
            return None
        held = self._held
        if held is None:
            self._start()
            return None
        try:
            return self._ask(held, compute, commands, mirrors)
        except NotNow as reason:
            logger.info("The copy of %s is renewed: %s", self.name, reason)
        except Exception:  # a page must not fail because of a copy
            logger.exception("The copy of %s is of no use and is made anew", self.name)
            self._drop(held)
        self._start()
        return None

    def _ask(
        self,
        held: _Held[S],
        compute: Callable[[S], A],
        commands: Callable[[RedisPipeline, A], object],
        mirrors: Sequence[str],
    ) -> tuple[A, list[Any]] | None:
        for is_second_try in (False, True):
            with self._lock:
                answer, asked = compute(held.structure), held.last

            def ask(pipe: RedisPipeline, answer: A = answer, asked: bytes = asked) -> None:
                commands(pipe, answer)
                # Last, so that it includes every change that the earlier commands could have seen.
                pipe.xrange(self._feed(), asked, "+", MAX_ENTRIES)

            reading = read([*self._sources(), *mirrors], ask)
            if reading is None:
                return None
            if reading.generations[: len(held.generations)] != held.generations:
                self._drop(held)
                raise NotNow("the mirror was rebuilt")
            *replies, later = reading.replies
            if not later or later[0][0] != asked:
                self._drop(held)
                raise NotNow("the feed has been trimmed")
            if len(later) == 1:
                return answer, replies
            if len(later) < MAX_ENTRIES:
                self._apply(held, later)
            if is_second_try:  # the answer is newer than the request despite later entries
                return answer, replies
            if len(later) == MAX_ENTRIES:
                raise NotNow("it is far behind")
        raise AssertionError("unreachable")

    def _sources(self) -> dict[str, Callable[[], str]]:
        return {self.name: self._rows, **self._others()}

    def _feed(self) -> str:
        feed = registry.get(self.name).feed()
        assert feed is not None, f"{self.name} has no feed"
        return feed

    def _drop(self, held: _Held[S]) -> None:
        if self._held is held:
            self._held = None

    def _apply(self, held: _Held[S], later: FeedEntries) -> None:
        """Apply the new feed entries, in slices. Other threads may have applied some of them."""
        for start in range(0, len(later), SLICE):
            with self._lock:
                for entry_id, fields in later[start : start + SLICE]:
                    if loading.number(entry_id) > loading.number(held.last):
                        self._take(held.structure, fields)
                        held.last = entry_id

    def _take(self, structure: S, fields: dict[bytes, bytes]) -> None:
        if b"d" in fields:
            for is_added, entry in loading.decode_feed(fields[b"d"]):
                (structure.add if is_added else structure.remove)(entry)

    # --- loading in a separate thread ---------------------------------------------------------

    def ensure_loaded(self, timeout: float | None = None) -> bool:
        """Wait until the copy is current. Return False if it is not within ``timeout`` seconds.

        timeout: None for ``COPY_WAIT_SECONDS``.
        """
        deadline = time.monotonic() + (COPY_WAIT_SECONDS if timeout is None else timeout)
        while self.ask(lambda structure: None, lambda pipe, answer: None) is None:
            self._start(at_once=True)
            worker = self._worker
            if worker is not None:
                worker.join(max(0.0, deadline - time.monotonic()))
            if time.monotonic() >= deadline or (self._held is None and not self._is_working()):
                return False
        return True

    def forget(self) -> None:
        """Drop the copy, like a new process. Waits for a load in progress."""
        if self._worker is not None:
            self._worker.join()
        self._held, self._worker, self._retry_at = None, None, 0.0

    def _is_working(self) -> bool:
        return self._worker is not None and self._worker.is_alive()

    def _start(self, *, at_once: bool = False) -> None:
        """Start to load or update the copy, unless a thread is running or has just failed."""
        database_identity()  # read here, so that the thread needs no database
        with self._starting:
            if self._is_working() or (time.monotonic() < self._retry_at and not at_once):
                return
            self._worker = threading.Thread(target=self._work, name=f"copy of {self.name}", daemon=True)
            self._worker.start()

    def _work(self) -> None:
        try:
            redis, held = relay_client(), self._held
            if held is None or not self._caught_up(redis, held):
                self._held = self._load(redis)
            self._reason = ""
        except (NotNow, RedisError) as error:
            self._retry_at = time.monotonic() + COPY_RETRY_SECONDS
            is_known, self._reason = str(error) == self._reason, str(error)
            logger.log(logging.DEBUG if is_known else logging.INFO, "No copy of %s for now: %s", self.name, error)
        except Exception:
            self._retry_at = time.monotonic() + COPY_RETRY_SECONDS
            logger.exception("The copy of %s could not be made", self.name)

    def _caught_up(self, redis: RedisClient, held: _Held[S]) -> bool:
        try:
            self._follow(redis, held)
        except NotNow:
            self._drop(held)
            return False
        return True

    def _load(self, redis: RedisClient) -> _Held[S]:
        """Load all entries from Redis.

        Feed entries for changes during the load are absolute, so applying them later corrects the copy.
        """
        generations, newest = self._generations(redis), cast("FeedEntries", redis.xrevrange(self._feed(), count=1))
        if not newest:
            raise NotNow("there is no feed")
        entries = (loading.entries(redis, registry.get(name), rows()) for name, rows in self._sources().items())
        held = _Held(self._build(chain.from_iterable(entries)), newest[0][0], generations)
        if self._generations(redis) != generations:
            raise NotNow("the mirror was rebuilt meanwhile")
        return held

    def _generations(self, redis: RedisClient) -> tuple[str, ...]:
        names = [*self._sources()]
        found = marker.generations(redis, names, [redis.get(naming.marker(name)) for name in names])
        if found is None:
            raise NotNow("the mirror is cold")
        return found

    def _follow(self, redis: RedisClient, held: _Held[S]) -> None:
        """Apply the feed to its end. Raises NotNow if it was trimmed or is too long."""
        taken = 0
        while taken <= CATCH_UP:
            asked = held.last
            later = cast("FeedEntries", redis.xrange(self._feed(), asked, "+", MAX_ENTRIES))
            if not later or later[0][0] != asked:
                raise NotNow("the feed has been trimmed")
            if len(later) == 1:
                return
            taken += len(later) - 1
            self._apply(held, later)
        raise NotNow("it is too far behind")
