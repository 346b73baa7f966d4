"""Copies of a mirror's entries in the process, for questions that Redis answers slowly (tag algebra).

A copy is used only while it is current. In one round trip the reader fetches its own data *and* the mirror's feed
from the last entry that the copy has applied. If there are no newer entries, the answer computed beforehand is
valid (1 round trip). Otherwise they are applied and the answer is computed again (2). If the feed no longer has the
last entry, or the mirror was rebuilt, a thread loads the copy again, and SQL answers meanwhile.

A thread also applies new entries between the questions, while the copy is in use. Otherwise a copy that nothing asked
for some seconds of a bulk update would have fallen behind, and slow SQL would leave it no processor time to catch up.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from django.db import connections
from django.db.utils import Error as DatabaseError

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

MAX_ENTRIES = 2_000  # feed entries that a request applies; more are left to the thread
FOLLOW_SECONDS = 0.2  # between two times that a thread applies new entries
FOLLOW_IDLE_SECONDS = 60.0  # how long after the last question it goes on
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
        self.name = name
        self._rows = rows
        self._build = build
        self._others = others
        self._held: _Held[S] | None = None
        self._lock = threading.Lock()  # protects ``_held.structure`` and ``_held.last``
        # One thread at a time loads the copy.
        self._starting = threading.Lock()
        self._worker: threading.Thread | None = None
        self._follower: threading.Thread | None = None
        self._asked_at = 0.0
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
        if sql_only.wanted((*self._list_sources(), *mirrors)) or breaker.open():
            return None
        self._asked_at = time.monotonic()
        held = self._held
        if held is None:
            self._start_worker()
            return None
        self._start_follower()
        try:
            return self._try_to_answer(held, compute, commands, mirrors)
        except NotNow as error:
            self._start_worker(reason=str(error))
        except Exception:
            # A page must not fail because of a copy.
            logger.exception("The copy of %s is of no use and is made again", self.name)
            self._forget_held(held)
            self._start_worker()
        return None

    def _try_to_answer(
        self,
        held: _Held[S],
        compute: Callable[[S], A],
        commands: Callable[[RedisPipeline, A], object],
        mirrors: Sequence[str],
    ) -> tuple[A, list[Any]] | None:
        # The second answer is computed after the entries that the first one lacked.
        for is_second_try in (False, True):
            with self._lock:
                answer = compute(held.structure)
                asked = held.last

            def ask(pipe: RedisPipeline, answer: A = answer, asked: bytes = asked) -> None:
                commands(pipe, answer)
                # Last, so that it includes every change that the earlier commands could have seen.
                pipe.xrange(self._get_feed(), asked, "+", MAX_ENTRIES)

            reading = read([*self._list_sources(), *mirrors], ask)
            if reading is None:
                return None
            # The first generations are those of the copy, the others those of further mirrors.
            if reading.generations[: len(held.generations)] != held.generations:
                self._forget_held(held)
                raise NotNow("the mirror was rebuilt")
            *replies, later = reading.replies
            # The range begins with the entry that the copy has applied last, unless the feed has lost it.
            if not later or later[0][0] != asked:
                self._forget_held(held)
                raise NotNow("the feed has been trimmed")
            if len(later) == 1:
                return answer, replies
            if len(later) < MAX_ENTRIES:
                self._apply_later(held, later)
            # The answer is newer than the request, despite later entries.
            if is_second_try:
                return answer, replies
            if len(later) == MAX_ENTRIES:
                raise NotNow("it is far behind")
        raise AssertionError("unreachable")

    def _list_sources(self) -> dict[str, Callable[[], str]]:
        return {self.name: self._rows, **self._others()}

    def _get_feed(self) -> str:
        feed = registry.get(self.name).feed()
        assert feed is not None, f"{self.name} has no feed"
        return feed

    def _forget_held(self, held: _Held[S]) -> None:
        if self._held is held:
            self._held = None

    def _apply_later(self, held: _Held[S], later: FeedEntries) -> None:
        """Apply the new feed entries, in slices. Other threads may have applied some of them."""
        for start in range(0, len(later), SLICE):
            with self._lock:
                for entry_id, fields in later[start : start + SLICE]:
                    if loading.number(entry_id) > loading.number(held.last):
                        self._apply_entry(held.structure, fields)
                        held.last = entry_id

    def _apply_entry(self, structure: S, fields: dict[bytes, bytes]) -> None:
        encoded = fields.get(b"d")
        if encoded is None:
            # A reset, after which the copy is loaded again.
            return
        for is_added, entry in loading.decode_feed(encoded):
            if is_added:
                structure.add(entry)
            else:
                structure.remove(entry)

    # --- loading in a separate thread ---------------------------------------------------------

    def ensure_loaded(self, timeout: float | None = None) -> bool:
        """Wait until the copy is current. Return False if it is not within ``timeout`` seconds.

        timeout: None for ``COPY_WAIT_SECONDS``.
        """
        seconds = COPY_WAIT_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + seconds
        while self.ask(lambda structure: None, lambda pipe, answer: None) is None:
            self._start_worker(at_once=True)
            worker = self._worker
            if worker is not None:
                worker.join(max(0.0, deadline - time.monotonic()))
            has_failed = self._held is None and not self._is_working()
            if has_failed or time.monotonic() >= deadline:
                return False
        return True

    def forget(self) -> None:
        """Drop the copy, like a new process. Waits for a load in progress."""
        if self._worker is not None:
            self._worker.join()
        self._held = None
        self._worker = None
        self._retry_at = 0.0

    def _is_working(self) -> bool:
        return self._worker is not None and self._worker.is_alive()

    def _start_worker(self, *, at_once: bool = False, reason: str = "") -> None:
        """Start to load or update the copy, unless a thread is running or has just failed. reason: for the log."""
        # Read here, so that the thread usually needs no database.
        database_identity()
        with self._starting:
            if self._is_working():
                return
            if time.monotonic() < self._retry_at and not at_once:
                return
            if reason:
                logger.info("The copy of %s is renewed: %s", self.name, reason)
            self._worker = threading.Thread(target=self._renew_copy, name=f"copy of {self.name}", daemon=True)
            self._worker.start()

    def _start_follower(self) -> None:
        if self._follower is None or not self._follower.is_alive():
            # Two threads that come here at once start two, which does no harm.
            self._follower = threading.Thread(target=self._follow, name=f"follower of {self.name}", daemon=True)
            self._follower.start()

    def _follow(self) -> None:
        while self._held is not None and time.monotonic() < self._asked_at + FOLLOW_IDLE_SECONDS:
            time.sleep(FOLLOW_SECONDS)
            try:
                self._start_worker()
            except DatabaseError as error:
                # The identity of the database is unknown while SQL is away. The next time needs a new connection.
                logger.debug("The copy of %s is not followed for now: %s", self.name, error)
                connections.close_all()

    def _renew_copy(self) -> None:
        try:
            redis = relay_client()
            held = self._held
            if held is None or not self._caught_up(redis, held):
                self._held = self._load_all(redis)
            self._reason = ""
        except (NotNow, RedisError) as error:
            self._retry_at = time.monotonic() + COPY_RETRY_SECONDS
            reason = str(error)
            level = logging.DEBUG if reason == self._reason else logging.INFO
            self._reason = reason
            logger.log(level, "No copy of %s for now: %s", self.name, error)
        except Exception:
            self._retry_at = time.monotonic() + COPY_RETRY_SECONDS
            logger.exception("The copy of %s could not be made", self.name)
        finally:
            # A foreign marker makes the thread ask SQL whether the database was replaced.
            connections.close_all()

    def _caught_up(self, redis: RedisClient, held: _Held[S]) -> bool:
        try:
            self._follow_feed(redis, held)
        except NotNow:
            self._forget_held(held)
            return False
        return True

    def _load_all(self, redis: RedisClient) -> _Held[S]:
        """Load all entries from Redis.

        Feed entries for changes during the load are absolute, so applying them later corrects the copy.
        """
        generations = self._read_generations(redis)
        newest = cast("FeedEntries", redis.xrevrange(self._get_feed(), count=1))
        if not newest:
            raise NotNow("there is no feed")
        last, _ = newest[0]
        structure = self._build(self._iterate_entries(redis))
        held = _Held(structure, last, generations)
        # A rebuild writes no entries to the feed.
        if self._read_generations(redis) != generations:
            raise NotNow("the mirror was rebuilt meanwhile")
        return held

    def _iterate_entries(self, redis: RedisClient) -> Iterator[Contribution]:
        for name, rows in self._list_sources().items():
            yield from loading.entries(redis, registry.get(name), rows())

    def _read_generations(self, redis: RedisClient) -> tuple[str, ...]:
        names = list(self._list_sources())
        markers = [redis.get(naming.marker(name)) for name in names]
        found = marker.generations(redis, names, markers)
        if found is None:
            raise NotNow("the mirror is cold")
        return found

    def _follow_feed(self, redis: RedisClient, held: _Held[S]) -> None:
        """Apply the feed to its end. Raises NotNow if it was trimmed.

        An entry takes half as long as a row of a new load, and a tenth as long as the relay needs to write it.
        """
        while True:
            asked = held.last
            later = cast("FeedEntries", redis.xrange(self._get_feed(), asked, "+", MAX_ENTRIES))
            if not later or later[0][0] != asked:
                raise NotNow("the feed has been trimmed")
            if len(later) == 1:
                return
            self._apply_later(held, later)
