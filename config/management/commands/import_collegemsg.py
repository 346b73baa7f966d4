"""``manage.py import_collegemsg``: people and their logins from the CollegeMsg file."""

import time
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from accounts import bulk
from accounts.models import User
from accounts.names import fold
from config.collegemsg import messages, name
from loginlog.days import day_of
from loginlog.services import mark_many
from mirror.management.base import FOUND, OK, ReportingCommand
from mirror.management.progress import Progress, plain

STEP = 1000  # lines between two movements of the bar


class Command(ReportingCommand):
    help = (
        "Adds the people of FILE (lines of SRC DST UNIXTS) and a login of SRC for each line, at its own time. "
        "Again: changes nothing. Exits with 1 when the file has no line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="CollegeMsg.txt")
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N lines")
        parser.add_argument("--json", action="store_true", help="report in JSON")

    def run(self, **options: Any) -> int:
        path, limit = Path(options["file"]), options["limit"]
        if limit is not None and limit < 1:
            raise ValueError("--limit has to be at least 1")
        began = time.monotonic()
        with Progress(self.stderr, "read") as progress:
            logins = _Logins(path, limit, progress)  # all of it is looked at before anything is written
        done = logins.write()
        seconds = time.monotonic() - began
        lines = [
            f"{plain(done['people'], 'person')} added, {plain(done['logins'], 'login')} read: counts of"
            f" {plain(done['counted'], 'person')} and {plain(done['days'], 'day')} of the login log are new,"
            f" in {seconds:.1f} s"
        ]
        self.report({**done, "seconds": round(seconds, 2)}, lines, options["json"])
        return OK if done["logins"] else FOUND


class _Logins:
    """What the file says of logins, by person."""

    def __init__(self, path: Path, limit: int | None, progress: Progress) -> None:
        self.people: dict[int, None] = {}
        self.times: dict[int, int] = {}
        self.last: dict[int, datetime] = {}
        self.days: dict[tuple[int, date], None] = {}
        for count, (source, target, at) in enumerate(messages(path, limit), 1):
            self.people |= {source: None, target: None}
            self.times[source] = self.times.get(source, 0) + 1
            self.last[source] = max(at, self.last.get(source, at))
            self.days[source, day_of(at)] = None
            if count % STEP == 0:
                progress("lines", STEP)

    def write(self) -> dict[str, int]:
        """Put it into SQL and the login log. How much of it was new."""
        names = list(map(name, self.people))
        there = User.objects.filter(name_key__in=map(fold, names)).count()
        ids = bulk.people(names)
        counted = bulk.see_to_logins(
            {ids[name(person)]: bulk.Logins(times, self.last[person]) for person, times in self.times.items()}
        )
        days = mark_many(self._marks(ids))
        return {"people": len(ids) - there, "logins": sum(self.times.values()), "counted": counted, "days": days}

    def _marks(self, ids: dict[str, int]) -> Iterator[tuple[int, str, date]]:
        types = dict(User.objects.filter(pk__in=list(ids.values())).values_list("pk", "user_type"))
        for person, day in self.days:
            pk = ids[name(person)]
            yield pk, types[pk], day
