"""Expiry: months that are old enough leave Redis, once SQL has them and a log file too.

For each month: what is marked is flushed; what Redis has, and SQL has every bit of, is written down (``linelog``); then
each bitmap is compared once more, under WATCH, and deleted. What was marked or changed meanwhile stays until the next
time. Killed between any two steps, nothing is lost, and the next run begins anew.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from loginlog import bitmaps, days, items, keys, linelog, scripts, walk
from loginlog.items import Month, Segment
from loginlog.linelog import Line
from loginlog.store import Known
from mirror.backup import marks, registry
from mirror.backup.flush import flush
from mirror.lease import lease
from mirror.redis import relay_client
from mirror.session import Conflict, Session

logger = logging.getLogger("loginlog")

STEP: Final = 500  # months of users in one WATCH
LEASE_SECONDS: Final = 3600.0
Step = Callable[[str], object]


class TooYoung(ValueError):
    """Asked to remove what readers take for granted to be in Redis."""


@dataclass(frozen=True)
class Expired:
    """What became of a month. removed: bitmaps. kept: changed or marked meanwhile. file: where they are written."""

    month: date
    removed: int
    kept: int
    file: Path | None


def _no_step(name: str) -> None:
    """Nothing happens between the steps (tests stop an expiry here)."""


def expire(older_than: int | None = None, *, redis: Any = None, step: Step = _no_step) -> list[Expired]:
    """Take months out of Redis of which every day is more than ``older_than`` days ago (default: the setting).

    Returns what became of each; nothing while another process is at it. Raises TooYoung for less than 31 days;
    redis-py's and Django's errors, OSError and linelog.BadFile: then nothing was removed that is not written down.
    """
    kept_days = settings.LOGINLOG_EXPIRE_DAYS if older_than is None else older_than
    if kept_days < days.LEAST_DAYS:
        raise TooYoung(f"what is not older than {days.LEAST_DAYS} days stays in Redis")
    redis = redis or relay_client()
    with lease(redis, "loginlog:expire", LEASE_SECONDS) as mine:
        if not mine:
            return []
        linelog.remove_parts(Path(settings.LOGINLOG_FOLDER))
        changes = {member.decode(): int(n) for member, n in redis.zrange(keys.months(), 0, -1, withscores=True)}
        step("flush")
        begun = marks.newest(registry.get(scripts.BACKUP), redis)
        flush(registry.get(scripts.BACKUP), redis=redis)
        since_year_one = (days.today() - date.min).days
        limit, found = days.today() - timedelta(days=min(kept_days, since_year_one)), []
        for month in sorted({items.parse_member(member)[0] for member in changes}):
            if days.last_of(month) < limit:
                of_month = {m: n for m, n in changes.items() if items.parse_member(m)[0] == month}
                found.append(_Month(redis, month, of_month, begun, step).expire())
        return found


class _Month:
    """One month on its way out. changes: its members of ``keys.months`` as they were before the flush up to the
    version ``begun``.
    """

    def __init__(self, redis: Any, month: date, changes: dict[str, int], begun: int, step: Step) -> None:
        self.redis, self.month, self.changes, self.begun, self.step = redis, month, changes, begun, step
        self.backup = registry.get(scripts.BACKUP)
        self.skipped = 0  # bitmaps that were marked, or of which SQL has not every bit

    def expire(self) -> Expired:
        """Write down, compare, remove."""
        self.step("write")
        path = linelog.write(Path(settings.LOGINLOG_FOLDER), self.month, self._lines())
        removed, kept = 0, self.skipped
        if path is not None:
            self.step("remove")
            for lines in _together(line for _, line in linelog.read(path)):
                gone = self._remove(lines)
                removed, kept = removed + gone, kept + len(lines) - gone
                self.step("removed")
        self.step("forget")
        if not kept and not self.redis.zcount(self.backup.marks(), "-inf", self.begun):
            for member, count in self.changes.items():
                scripts.forget_month(self.redis, [keys.months()], [member, count])
        return Expired(self.month, removed, kept, path)

    def _lines(self) -> Iterator[Line]:
        """What Redis has of the month, unmarked, and SQL has every bit of: as SQL has it. Months of users go first:
        a month in Redis has its days there too.
        """
        types = sorted(items.parse_member(member)[1] for member in self.changes)
        for kind in types:
            for of_users in walk.months_of(self.month, kind, STEP):
                yield from self._held(of_users)
        for kind in types:
            for of_days in walk.days_of(self.month, kind, 100):
                yield from self._held(of_days)

    def _held(self, known: dict[Any, Any]) -> Iterator[Line]:
        names = [item.name for item in known]
        held = self._read(self.redis, list(known))
        marked = marks.versions(self.backup, self.redis, names)
        for (item, value), raw in zip(known.items(), held, strict=True):
            if raw and item.name not in marked and _has(value, raw):
                yield Line(item, value)
            elif raw:
                self.skipped += 1

    def _read(self, redis: Any, wanted: Sequence[Month | Segment]) -> list[bytes]:
        pipe = redis.pipeline(transaction=False)
        for command in map(_reading, wanted):
            pipe.execute_command(*command)
        return list(pipe.execute())

    def _remove(self, lines: Sequence[Line]) -> int:
        """Delete what is still as it is written down, and not marked. Returns how many of the lines."""
        names = list(dict.fromkeys(line.item.key for line in lines))
        marked = ("ZMSCORE", self.backup.marks(), *(line.item.name for line in lines))
        try:
            with Session(self.redis) as session:
                scores, *sizes = session.watch_and_ask(names, [marked, *(("STRLEN", name) for name in names)])
                free = [line for line, score in zip(lines, scores, strict=True) if score is None]
                if isinstance(lines[0].item, Segment):  # a day goes as a whole
                    segments = _with_gaps(lines, sizes[0])
                    good = free if free == lines and len(self._same(session, segments)) == len(segments) else []
                else:
                    good = self._same(session, free)
                if good:
                    session.execute([("UNLINK", name) for name in dict.fromkeys(line.item.key for line in good)])
                return len(good)
        except Conflict:
            return 0

    def _same(self, session: Session, lines: Sequence[Line]) -> list[Line]:
        """Those of which Redis has nothing that is not written down."""
        found = []
        for at in range(0, len(lines), STEP):
            part = lines[at : at + STEP]
            replies = session.ask([_reading(line.item) for line in part])
            found += [line for line, raw in zip(part, replies, strict=True) if _has(line.value, raw)]
        return found


def _with_gaps(lines: Sequence[Line], size: int) -> list[Line]:
    """All segments of a day's bitmap of so many bytes: those that are not written down have to be empty."""
    written = {line.item: line for line in lines}
    day, user_type, _ = lines[0].item
    every = [Segment(day, user_type, n) for n in range(-(-size // bitmaps.SEGMENT_BYTES))]
    return [written.get(item, Line(item, b"")) for item in every]


def _reading(item: Month | Segment) -> tuple[Any, ...]:
    start = 0 if isinstance(item, Month) else item.offset
    return ("GETRANGE", item.key, start, start + bitmaps.SEGMENT_BYTES - 1)


def _has(value: Known | bytes, raw: bytes) -> bool:
    """Whether every bit of ``raw`` is in ``value``."""
    return bitmaps.covers(bitmaps.month_raw(value.bits) if isinstance(value, Known) else value, raw)


def _together(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Lines that are removed in one step: all segments of a day's bitmap; five hundred months of users."""
    part: list[Line] = []
    for line in lines:
        if part:
            first = part[0].item
            same = line.item.key == first.key if isinstance(first, Segment) else isinstance(line.item, Month)
            if not same or (isinstance(first, Month) and len(part) >= STEP):
                yield part
                part = []
        part.append(line)
    if part:
        yield part
