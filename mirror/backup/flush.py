"""Flush: write marked items to SQL, oldest marks first.

The order of the steps for a batch:

1. Redis: read the versions of the marks, then the values, then the versions again. A value counts only if its mark
   still exists, because Redis may have been emptied or reverted in between. A missing value counts only if the
   version is unchanged.
2. SQL: write the items in one transaction, if the epoch is the same as before Redis was read.
3. Redis: clear the marks whose versions are those read first.

After a crash between any two steps the marks still exist, and ``save`` may get the same values again. Two
concurrent flushes do the same work twice. If they end in the wrong order, ``save`` keeps the newer values.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now

from mirror.backup import epoch, marks
from mirror.backup.declare import Backup
from mirror.conf import setting
from mirror.models import BackupState
from mirror.outbox.errors import raise_if_away, say
from mirror.redis.clients import relay_client
from mirror.redis.types import RedisClient
from mirror.relay.drains import Deadline
from mirror.utils.callbacks import ProgressCallback, Step, ignore

logger = logging.getLogger("mirror")
STARTS = 5  # how often a flush starts over when Redis is lost
LONGEST_ERROR = 300
NOT_KEPT = "it was written, and SQL does not have it"


@dataclass(frozen=True)
class Flushed:
    """The result of a flush.

    items: written to SQL. aside: refused by SQL and quarantined. finished: within its time.
    """

    backup: str
    items: int
    aside: int
    finished: bool


def flush(
    backup: Backup,
    seconds: float | None = None,
    *,
    items: Sequence[str] | None = None,
    again: bool = False,
    redis: RedisClient | None = None,
    step: Step = ignore,
    progress: ProgressCallback = ignore,
) -> Flushed:
    """Write the items that are marked now to SQL, or as many as fit in ``seconds``. Items marked later are left.

    items: flush only these, where marked. again: retry quarantined items as well. step: called with the name of
    each step before it. Raises the errors of redis-py and Django when Redis or SQL is away (all marks stay), and
    RuntimeError inside a transaction, whose rollback would not restore the marks.
    """
    redis, deadline, done, aside = redis or relay_client(), Deadline(seconds), 0, 0
    if again:
        marks.retry(backup, redis)
    for _ in range(STARTS):
        try:
            for run in _batches(_Run(backup, redis, step), items, deadline):
                done, aside = done + run[0], aside + run[1]
                progress(backup.name, run[0])
            return Flushed(backup.name, done, aside, finished=not deadline.passed())
        except epoch.Over:
            logger.warning("Redis was lost under the flush of %s: it begins again", backup.name)
    raise epoch.Over(f"Redis was lost again and again under the flush of {backup.name!r}")


def save_marked(backup: Backup, redis: RedisClient) -> int:
    """Write all marked items to SQL and keep their marks, without any write to Redis. Return their number.

    For a copy of SQL during a pause of writes (``mirror.backup.pause``). Items that SQL refuses are left. Raises the
    errors of ``flush``, and Over if Redis was lost.
    """
    run, size = _Run(backup, redis, ignore), int(setting("BATCH"))
    versions = list(marks.oldest(backup, redis, -1, marks.newest(backup, redis)).items())
    return sum(run.save(dict(versions[start : start + size])) for start in range(0, len(versions), size))


def _batches(run: "_Run", items: Sequence[str] | None, deadline: Deadline) -> Iterator[tuple[int, int]]:
    """Flush batch by batch. Yield the numbers of written and of quarantined items of each."""
    size = int(setting("BATCH"))
    if items is not None:
        for start in range(0, len(items), size):
            yield run.batch(marks.versions(run.backup, run.redis, items[start : start + size]))
        return
    until, last = marks.newest(run.backup, run.redis), dict[str, int]()
    while until and not deadline.passed():
        run.step("claim")
        claimed = marks.oldest(run.backup, run.redis, size, until)
        if not claimed or claimed == last:  # the same batch again: no item of it can be written
            return
        yield run.batch(claimed)
        last = claimed


class _Run:
    """A flush within one epoch."""

    def __init__(self, backup: Backup, redis: RedisClient, step: Step) -> None:
        self.backup, self.redis, self.step = backup, redis, step
        self._epoch: epoch.Epoch | None = None
        self._failures: dict[str, str] = {}

    def batch(self, versions: marks.Versions) -> tuple[int, int]:
        """Write these items, clear their marks and quarantine refused ones. Return the numbers of both."""
        if not versions:
            return 0, 0
        done = self._save(versions)
        self.step("clear")
        marks.clear(self.backup, self.redis, done)
        return len(done), self._set_aside(versions)

    def save(self, versions: marks.Versions) -> int:
        """Write these items, and keep their marks. Return the number of written ones."""
        return len(self._save(versions))

    def _save(self, versions: marks.Versions) -> marks.Versions:
        if self._epoch is None:
            self._epoch = epoch.begin(self.backup.name, self.redis)
        return self._carefully(versions)

    def _carefully(self, versions: marks.Versions) -> marks.Versions:
        """Write the items, halving the batch after an error, so that a refused item does not delay others."""
        try:
            return self._write(versions)
        except epoch.Over:
            raise
        except Exception as error:
            raise_if_away(error)
            pairs = list(versions.items())
            if len(pairs) == 1:
                self._failures[pairs[0][0]] = " ".join(say(error).split())[:LONGEST_ERROR]
                return {}
            middle = len(pairs) // 2
            return {**self._carefully(dict(pairs[:middle])), **self._carefully(dict(pairs[middle:]))}

    def _write(self, versions: marks.Versions) -> marks.Versions:
        """Read these items and write them in one transaction. Return the items that SQL has now."""
        items = list(versions)
        self.step("read")
        values = self.backup.read(self.redis, items)
        self.step("check")
        now = marks.versions(self.backup, self.redis, items)
        sure = [i for i in items if now.get(i) == versions[i] or (i in values and now.get(i, 0) > versions[i])]
        self.step("save")
        assert self._epoch is not None
        with transaction.atomic(using=epoch.using(), durable=True):
            state = BackupState.objects.using(epoch.using()).filter(backup=self.backup.name, epoch=self._epoch.token)
            if not state.update(flushed_at=Now()):  # this also serializes concurrent flushes of one backup
                raise epoch.Over
            if saved := {item: values.get(item) for item in sorted(sure)}:
                self.backup.save(saved)
        self.step("keep")
        kept = set(self.backup.kept(saved))
        self._failures |= {item: NOT_KEPT for item in saved if item not in kept}
        return {item: versions[item] for item in kept}

    def _set_aside(self, versions: marks.Versions) -> int:
        failures, self._failures = self._failures, {}
        if failures:
            name, (item, error) = self.backup.name, next(iter(failures.items()))
            logger.error("%s: %d items cannot be written to SQL; %s: %s", name, len(failures), item, error)
            marks.set_aside(self.backup, self.redis, {i: versions[i] for i in failures}, failures)
        return len(failures)
