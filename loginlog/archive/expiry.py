"""Expiry: old months leave Redis after SQL and a log file have them.

A run flushes all marks first. For each month it then writes a log file (``log_files``) of the bitmaps in Redis of which
SQL has every bit. Finally it compares each bitmap once more, under WATCH, and deletes it. Bitmaps that were marked or
changed meanwhile stay until the next run. A run that is killed between any two steps loses nothing; the next run starts
over.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from loginlog import days, keys
from loginlog.archive import log_files
from loginlog.archive.log_files import Line
from loginlog.storage import bitmaps, items, scripts, walk
from loginlog.storage.items import DaySegment, LoginMonth
from loginlog.storage.tombstones import Known
from mirror.backup import flush_backup, marks, registry
from mirror.redis import Conflict, RedisClient, Session, lease, relay_client
from mirror.utils import Step, ignore

logger = logging.getLogger("loginlog")

MONTHS_PER_WATCH: Final = 500  # months of users per WATCH
LEASE_SECONDS: Final = 3600.0


class TooYoung(ValueError):
    """The requested age would remove bitmaps for which readers ask only Redis."""


@dataclass(frozen=True)
class ExpiredMonth:
    """The outcome of a month: the number of removed bitmaps, the number kept because they changed, and the log file."""

    month: date
    removed: int
    kept: int
    file: Path | None


def expire_months(
    older_than: int | None = None, *, redis: RedisClient | None = None, step: Step = ignore
) -> list[ExpiredMonth]:
    """Remove the months from Redis that ended more than ``older_than`` days ago (default: the setting).

    Return the outcome of each month, an empty list while another process runs an expiry. Raises TooYoung for less than
    31 days, and redis-py's and Django's errors, OSError and linelog.BadFile. After an error, all removed bitmaps are in
    a log file.
    """
    kept_days = settings.LOGINLOG_EXPIRE_DAYS if older_than is None else older_than
    if kept_days < days.MIN_DAYS_IN_REDIS:
        raise TooYoung(f"what is not older than {days.MIN_DAYS_IN_REDIS} days stays in Redis")
    redis = redis or relay_client()
    with lease(redis, "loginlog:expire", LEASE_SECONDS) as mine:
        if not mine:
            return []
        log_files.remove_unfinished(Path(settings.LOGINLOG_FOLDER))
        changes = {member.decode(): int(n) for member, n in redis.zrange(keys.months(), 0, -1, withscores=True)}
        step("flush")
        begun = marks.newest(registry.get(scripts.BACKUP_NAME), redis)
        flush_backup(registry.get(scripts.BACKUP_NAME), redis=redis)
        since_year_one = (days.today() - date.min).days
        limit, found = days.today() - timedelta(days=min(kept_days, since_year_one)), []
        for month in sorted({items.parse_member(member)[0] for member in changes}):
            if days.last_day_of_month(month) < limit:
                of_month = {m: n for m, n in changes.items() if items.parse_member(m)[0] == month}
                found.append(_MonthExpiry(redis, month, of_month, begun, step).expire())
        return found


class _MonthExpiry:
    """The expiry of one month.

    ``changes`` has the month's members of ``keys.months`` before the flush, which covers marks up to the version
    ``begun``.
    """

    def __init__(self, redis: RedisClient, month: date, changes: dict[str, int], begun: int, step: Step) -> None:
        self.redis, self.month, self.changes, self.begun, self.step = redis, month, changes, begun, step
        self.backup = registry.get(scripts.BACKUP_NAME)
        self.skipped = 0  # bitmaps with a mark, or with a bit that SQL lacks

    def expire(self) -> ExpiredMonth:
        """Write the log file, compare the bitmaps with it and remove them from Redis."""
        self.step("write")
        path = log_files.write_file(Path(settings.LOGINLOG_FOLDER), self.month, self._lines())
        removed, kept = 0, self.skipped
        if path is not None:
            self.step("remove")
            for lines in _group_lines(line for _, line in log_files.read_lines(path)):
                gone = self._remove(lines)
                removed, kept = removed + gone, kept + len(lines) - gone
                self.step("removed")
        self.step("forget")
        if not kept and not self.redis.zcount(self.backup.marks(), "-inf", self.begun):
            for member, count in self.changes.items():
                scripts.forget_month(self.redis, [keys.months()], [member, count])
        return ExpiredMonth(self.month, removed, kept, path)

    def _lines(self) -> Iterator[Line]:
        """Yield SQL's value of each unmarked bitmap in Redis of which SQL has every bit.

        Months of users come first, because a month in Redis implies that its days are there as well.
        """
        types = sorted(items.parse_member(member)[1] for member in self.changes)
        for kind in types:
            for of_users in walk.iterate_months(self.month, kind, MONTHS_PER_WATCH):
                yield from self._held(of_users)
        for kind in types:
            for of_days in walk.iterate_days(self.month, kind, 100):
                yield from self._held(of_days)

    def _held(self, known: dict[Any, Any]) -> Iterator[Line]:
        names = [item.name for item in known]
        held = self._read(self.redis, list(known))
        marked = marks.versions(self.backup, self.redis, names)
        for (item, value), raw in zip(known.items(), held, strict=True):
            if raw and item.name not in marked and _covers(value, raw):
                yield Line(item, value)
            elif raw:
                self.skipped += 1

    def _read(self, redis: RedisClient, wanted: Sequence[LoginMonth | DaySegment]) -> list[bytes]:
        pipe = redis.pipeline(transaction=False)
        for command in map(_build_getrange, wanted):
            pipe.execute_command(*command)
        return list(pipe.execute())

    def _remove(self, lines: Sequence[Line]) -> int:
        """Delete bitmaps that still equal their lines and have no mark. Return the number of their lines."""
        names = list(dict.fromkeys(line.item.key for line in lines))
        marked = ("ZMSCORE", self.backup.marks(), *(line.item.name for line in lines))
        try:
            with Session(self.redis) as session:
                scores, *sizes = session.watch_and_ask(names, [marked, *(("STRLEN", name) for name in names)])
                free = [line for line, score in zip(lines, scores, strict=True) if score is None]
                if isinstance(lines[0].item, DaySegment):  # delete a day completely or not at all
                    segments = _fill_gaps(lines, sizes[0])
                    good = free if free == lines and len(self._same(session, segments)) == len(segments) else []
                else:
                    good = self._same(session, free)
                if good:
                    session.execute([("UNLINK", name) for name in dict.fromkeys(line.item.key for line in good)])
                return len(good)
        except Conflict:
            return 0

    def _same(self, session: Session, lines: Sequence[Line]) -> list[Line]:
        """Return the lines that cover every bit of their bitmaps in Redis."""
        found = []
        for at in range(0, len(lines), MONTHS_PER_WATCH):
            part = lines[at : at + MONTHS_PER_WATCH]
            replies = session.ask([_build_getrange(line.item) for line in part])
            found += [line for line, raw in zip(part, replies, strict=True) if _covers(line.value, raw)]
        return found


def _fill_gaps(lines: Sequence[Line], size: int) -> list[Line]:
    """Return lines for all segments of a day's bitmap of ``size`` bytes, empty ones for those without a line."""
    written = {line.item: line for line in lines}
    day, user_type, _ = lines[0].item
    every = [DaySegment(day, user_type, n) for n in range(-(-size // bitmaps.SEGMENT_BYTES))]
    return [written.get(item, Line(item, b"")) for item in every]


def _build_getrange(item: LoginMonth | DaySegment) -> tuple[Any, ...]:
    start = 0 if isinstance(item, LoginMonth) else item.offset
    return ("GETRANGE", item.key, start, start + bitmaps.SEGMENT_BYTES - 1)


def _covers(value: Known | bytes, raw: bytes) -> bool:
    """Return whether every bit of ``raw`` is in ``value``."""
    return bitmaps.covers(bitmaps.encode_month(value.bits) if isinstance(value, Known) else value, raw)


def _group_lines(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Group lines that one step removes: all segments of a day's bitmap, or five hundred months of users."""
    part: list[Line] = []
    for line in lines:
        if part:
            first = part[0].item
            same = line.item.key == first.key if isinstance(first, DaySegment) else isinstance(line.item, LoginMonth)
            if not same or (isinstance(first, LoginMonth) and len(part) >= MONTHS_PER_WATCH):
                yield part
                part = []
        part.append(line)
    if part:
        yield part
