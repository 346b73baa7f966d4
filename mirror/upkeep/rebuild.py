"""Rebuild: drain every row once more while the site runs and writes continue. Then the mirror is warm.

It is the ordinary drain over all keys, by keyset. A token in Redis, set at the start, guarantees completeness: if
Redis is emptied or replaced meanwhile, the token is missing or another one, and the rebuild starts over instead of
making an incomplete mirror warm. Progress is stored in SQL, so that a killed rebuild continues at its position.
"""

import logging
import uuid
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from itertools import filterfalse
from operator import attrgetter
from typing import Any, NamedTuple

from mirror import registry
from mirror.comparison import scan
from mirror.conf import setting
from mirror.declare import values
from mirror.declare.mirrors import Mirror, TableMirror
from mirror.kinds import kind_of
from mirror.models import State
from mirror.outbox import changes, spread
from mirror.outbox.errors import raise_if_away, say
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.lease import lease
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.relay import apply, drains
from mirror.upkeep import heartbeat, replay
from mirror.utils.bulk import few_collections
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.verify import strays
from mirror.warm import cold, marker, triggers

logger = logging.getLogger("mirror")
STARTS = 5  # how often a rebuild starts over before it gives up for now


class Interrupted(RuntimeError):
    """Redis was repeatedly emptied or replaced during the rebuild of a mirror."""


@dataclass(frozen=True)
class Rebuilt:
    """The result of a rebuild.

    rows: all of them. failed: those that could not be written, of this run; the relay tries them again. skipped: the
    mirror was not rebuilt, because it is warm or leased, or for a reason below. waits: cold mirrors that must be warm
    first. faults: of triggers, because of which changes would be missed.
    """

    mirror: str
    rows: int = 0
    strays: int = 0
    failed: int = 0
    skipped: bool = False
    waits: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def rebuild(
    names: Iterable[str] = (), *, progress: ProgressCallback = ignore, redis: RedisClient | None = None
) -> list[Rebuilt]:
    """Rebuild these mirrors (all by default). ``progress(mirror, rows)`` is called with each chunk's size.

    Raises redis-py's errors when Redis is away (the next run continues), Interrupted and UnknownMirror.
    """
    redis = redis or relay_client()
    # First: for a new incarnation it makes mirrors cold, or warm again without a rebuild.
    replay.check(redis)
    mirrors = sorted(registry.all_mirrors(names), key=order)
    absent = _Absent.find(mirrors, redis)
    return [_rebuild_one(mirror, redis, progress, absent) for mirror in mirrors]


def order(mirror: Mirror) -> tuple[bool, int]:
    """Sort table mirrors first, because other mirrors mirror their rows. Sort mirrors after those they depend on."""
    return not mirror.is_in_sql, len(registry.all_ahead(mirror.name))


def name_lease(mirror: str) -> str:
    """Return the name of the lease under which a mirror is rebuilt."""
    return f"rebuild:{mirror}"


def rebuild_if_cold(name: str, progress: ProgressCallback = ignore) -> int:
    """Rebuild a mirror for the sweep. Return the number of rows.

    It is 0 if the mirror is warm or leased, or waits for other mirrors.
    """
    redis = relay_client()
    replay.check(redis)
    if marker.is_warm(redis, name) or marker.list_cold(redis, registry.ahead(name)):
        return 0
    return _rebuild_one(registry.get(name), redis, progress, if_cold=True).rows


class _Absent(NamedTuple):
    """The mirrors of which a Redis had no key before their rebuild."""

    incarnation: str
    names: set[str]

    @classmethod
    def find(cls, mirrors: Iterable[Mirror], redis: RedisClient) -> "_Absent":
        incarnation = marker.now(redis)
        in_redis = filterfalse(attrgetter("is_in_sql"), mirrors)
        return cls(incarnation, scan.find_absent(in_redis, redis))


def _rebuild_one(
    mirror: Mirror,
    redis: RedisClient,
    progress: ProgressCallback,
    absent: _Absent | None = None,
    *,
    if_cold: bool = False,
) -> Rebuilt:
    """Rebuild a mirror, unless it cannot become warm now, or another process rebuilds it."""
    faults = triggers.check(redis).get(mirror.name)
    if faults:
        return Rebuilt(mirror.name, skipped=True, faults=faults)
    cold_ones = marker.list_cold(redis, registry.ahead(mirror.name))
    if cold_ones:
        return Rebuilt(mirror.name, skipped=True, waits=tuple(cold_ones))
    with few_collections(), lease(redis, name_lease(mirror.name)) as is_mine:
        if not is_mine or (if_cold and marker.is_warm(redis, mirror.name)):
            return Rebuilt(mirror.name, skipped=True)
        for _ in range(STARTS):
            done = _Run(mirror, redis, progress, absent).run()
            if done is not None:
                return done
            # The lease may have expired, and another process has completed the rebuild.
            if marker.is_warm(redis, mirror.name):
                return Rebuilt(mirror.name, skipped=True)
            # A trigger may have been lost meanwhile.
            faults = triggers.check(redis).get(mirror.name)
            if faults:
                return Rebuilt(mirror.name, skipped=True, faults=faults)
    raise Interrupted(f"Redis kept changing under the rebuild of {mirror.name}")


class _Run:
    """One start of a rebuild, or the continuation of an interrupted one."""

    def __init__(
        self, mirror: Mirror, redis: RedisClient, progress: ProgressCallback, absent: _Absent | None = None
    ) -> None:
        self.mirror = mirror
        self.redis = redis
        self.progress = progress
        self.absent = absent
        self.failed = 0
        self.sources: list[int] = []  # ids of the source changes that were pending at the start
        self.states = State.objects.using(changes.using()).filter(mirror=mirror.name)
        self.state, _ = State.objects.using(changes.using()).get_or_create(mirror=mirror.name)

    def run(self) -> Rebuilt | None:
        """Run all steps. Return None if Redis changed and the rebuild has to start over."""
        if not self._can_resume():
            self._begin_rebuild()
        if not self._all_rows():
            return None
        # Before the strays: a row that waits for one of these changes would not count as one, and would stay for good.
        # A crash in between leaves the mirror cold, and the next rebuild reads every row.
        self._mark_sources()
        removed = 0 if self._started_empty() else strays.remove(self.mirror, self.redis)
        if not self._finish():
            return None
        return Rebuilt(self.mirror.name, self.state.rebuild_rows, removed, self.failed)

    def _all_rows(self) -> bool:
        """Drain chunk after chunk. SQL is read while Redis writes. Return False if the rebuild has to start over."""
        before = chunk = None
        try:
            for chunk in self._list_chunks():
                if before and not self._finish_chunk(before):
                    return False
                before = chunk
            return before is None or self._finish_chunk(before)
        finally:
            for under_way in (before, chunk):
                if under_way:
                    under_way.abandon()

    def _list_chunks(self) -> Generator["_Chunk", None, None]:
        cursor = self.state.rebuild_cursor
        size = int(setting("CHUNK"))
        kind = kind_of(self.mirror)
        # Nothing is compared or replaced where nothing is stored, so the transactions of a table may be larger.
        together = size if self._started_empty() else kind.limit_batch(size)
        # Most windows are cold, so many keys leave few rows.
        step = size if kind.is_lazy else together
        for pks in values.read_batches(self.mirror.name, self.mirror.keys_after, step, cursor):
            rows = kind.select_present(pks, self.redis)
            # At least one chunk, possibly without rows, because the last one saves the position.
            for start in range(0, max(len(rows), 1), together):
                is_last = start + together >= len(rows)
                yield _Chunk(self.mirror, rows[start : start + together], self.redis, pks if is_last else [])

    def _finish_chunk(self, chunk: "_Chunk") -> bool:
        self.failed += chunk.finish()
        if chunk.done:
            self._note_progress(chunk.done)
        return self._still_ours()

    def _can_resume(self) -> bool:
        """Return whether an earlier start can be continued: its token is still in this incarnation."""
        self.token = self.state.rebuild_token
        return bool(self.token) and self.token.startswith(self._make_prefix()) and self._still_ours()

    def _make_prefix(self) -> str:
        return f"{self.mirror.version}:{marker.now(self.redis)}:"

    def _begin_rebuild(self) -> None:
        # This rebuild also applies the pending changes of everything. They are marked before the first row is read, so
        # that one which is appended later stays pending.
        cold.apply_whole(self.mirror, self.redis)
        self.sources = list(spread.pending_sources().filter(mirror=self.mirror.name).values_list("id", flat=True))
        # Without any entry there are no strays to look for at the end.
        empty = "empty" if self._is_empty() else "kept"
        self.token = f"{self._make_prefix()}{uuid.uuid4().hex[:12]}:{empty}"
        name = self.mirror.name
        with Session(self.redis) as session:
            session.execute([("SET", naming.building(name), self.token), ("DEL", naming.marker(name))])
        # Redis before SQL: after a crash between them SQL has no token of this start, and the next run begins again.
        self.state.rebuild_token = self.token
        self.state.rebuild_cursor = None
        self.state.rebuild_rows = 0
        self.state.save(using=changes.using())

    def _is_empty(self) -> bool:
        """Return whether nothing of the mirror is stored."""
        if isinstance(self.mirror, TableMirror):
            return not self.mirror.stored_after(None, 1)
        absent = self.absent
        # What another Redis lacked tells nothing of this one.
        if absent is None or absent.incarnation != marker.now(self.redis):
            absent = _Absent.find([self.mirror], self.redis)
        return self.mirror.name in absent.names

    def _started_empty(self) -> bool:
        return self.token.endswith(":empty")

    def _note_progress(self, pks: list[str]) -> None:
        self.state.rebuild_cursor = pks[-1]
        self.state.rebuild_rows += len(pks)
        self._save_progress(rebuild_cursor=pks[-1], rebuild_rows=self.state.rebuild_rows)
        self.progress(self.mirror.name, len(pks))

    def _still_ours(self) -> bool:
        found = self.redis.get(naming.building(self.mirror.name))
        return found is not None and found.decode() == self.token

    def _finish(self) -> bool:
        """Set the marker if the token still exists, which means that nothing was lost since."""
        heartbeat.beat(self.redis)
        if not marker.set_after_rebuild(self.mirror, self.redis, self.token):
            return False
        self._save_progress(rebuild_token="", rebuild_cursor=None)
        return True

    def _mark_sources(self) -> None:
        """Mark the changes of sources as applied: every row was read after them."""
        # Chained mirrors would still need these changes.
        if not registry.chained(self.mirror.name):
            changes.mark_applied(self.sources, ":".join(self.token.split(":")[1:3]))

    def _save_progress(self, **progress: Any) -> None:
        """Save progress, unless another rebuild has begun and has its own position."""
        self.states.filter(rebuild_token=self.token).update(**progress)


class _Chunk:
    """Rows on their way into Redis. If one fails, the others are written, and the relay counts the failure.

    done: the keys to save as progress after that.
    """

    def __init__(self, mirror: Mirror, pks: list[str], redis: RedisClient, done: list[str]) -> None:
        self.mirror = mirror
        self.pks = pks
        self.redis = redis
        self.done = done
        self.drain: apply.Drain | None = None
        if not pks:
            return
        try:
            self.drain = apply.start(mirror, pks, redis=redis, full=True)
        except Exception as error:
            raise_if_away(error)

    def finish(self) -> int:
        """Wait until the rows are written. Return the number of those that failed."""
        try:
            if self.drain is not None:
                self.drain.finish()
                return 0
        except Exception as error:
            raise_if_away(error)
        if not self.pks:
            return 0
        failures: dict[str, Exception] = {}
        drains.isolate(self.mirror, self.pks, self.redis, failures, full=True)
        # The relay tries again, and quarantines changes that keep failing.
        changes.append(self.mirror.name, failures, strays=changes.INCOMPLETE)
        # Only the first one: the others of a chunk usually fail for the same reason.
        for pk, fault in list(failures.items())[:1]:
            logger.error("The row %s of %s cannot be mirrored: %s", pk, self.mirror.name, say(fault), exc_info=fault)
        return len(failures)

    def abandon(self) -> None:
        """Give up rows that are not written yet. Without effect on those that are."""
        if self.drain is not None:
            self.drain.abandon()
