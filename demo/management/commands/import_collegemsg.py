"""``manage.py import_collegemsg``: people, their logins, follows and posts, from the CollegeMsg file."""

import time
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.models import User
from accounts.users import bulk
from common.text import fold
from demo.collegemsg import Message, build_user_name, invent_text, read_messages
from loginlog.days import day_of
from loginlog.services import mark_logins
from mirror.management import FOUND, OK, Progress, ReportingCommand, plain
from social.bulk import NewFollow, NewPost, create_follows, create_posts

LINES_PER_STEP = 1000  # lines between two updates of the progress bar


class Command(ReportingCommand):
    help = (
        "Import the users of FILE (lines of SRC DST UNIXTS). Each line adds a login and a post of SRC at that time, and"
        " DST follows SRC. Running it again changes nothing. Exits with 1 if the file has no lines."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="CollegeMsg.txt")
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N lines")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, **options: Any) -> int:
        path, limit = Path(options["file"]), options["limit"]
        if limit is not None and limit < 1:
            raise CommandError("--limit must be at least 1")
        began = time.monotonic()
        with Progress(self.stderr, "read") as progress:
            # The whole file is read and checked before the first write.
            found = _FileContent(path, limit, progress)
        with Progress(self.stderr, "written", {"follows": len(found.pairs), "posts": len(found.lines)}) as progress:
            done = found.write(progress)
        seconds = time.monotonic() - began
        self.report({**done, "seconds": round(seconds, 2)}, [_build_summary(done, seconds)], options["json"])
        return OK if found.lines else FOUND


def _build_summary(done: dict[str, int], seconds: float) -> str:
    read = f"{plain(done['logins'], 'line')} read in {seconds:.1f} s"
    if not any(done[what] for what in ("people", "counted", "days", "follows", "posts")):
        return f"{read}: everything was imported before, nothing changed"
    return (
        f"{read}. Added {plain(done['people'], 'person')}, {plain(done['follows'], 'follow')},"
        f" {plain(done['posts'], 'post')}, counts of {plain(done['counted'], 'person')}"
        f" and {plain(done['days'], 'day')} of the login log"
    )


class _FileContent:
    """The content of the file."""

    def __init__(self, path: Path, limit: int | None, progress: Progress) -> None:
        self.lines: list[Message] = []
        self.pairs: dict[tuple[int, int], datetime] = {}  # from (follower, followed) to the start of the follow
        for message in read_messages(path, limit):
            self.lines.append(message)
            if message.source != message.target:
                self.pairs.setdefault((message.target, message.source), message.at)
            if len(self.lines) % LINES_PER_STEP == 0:
                progress("lines", LINES_PER_STEP)

    def write(self, progress: Progress) -> dict[str, int]:
        """Write the content to SQL and the login log. Return the numbers of new rows."""
        people: list[int] = []
        for line in self.lines:
            people += (line.source, line.target)
        names = [build_user_name(person) for person in dict.fromkeys(people)]
        there = User.objects.filter(name_key__in=map(fold, names)).count()
        ids = bulk.get_or_create_users(names)
        counted = bulk.raise_login_totals(self._count_logins(ids))
        return {
            "people": len(ids) - there,
            "logins": len(self.lines),
            "counted": counted,
            "days": mark_logins(self._marks(ids)),
            "follows": create_follows(self._follows(ids), told=lambda rows: progress("follows", rows)),
            "posts": create_posts(self._posts(ids), told=lambda rows: progress("posts", rows)),
        }

    def _count_logins(self, ids: dict[str, int]) -> dict[int, bulk.LoginTotals]:
        found: dict[int, bulk.LoginTotals] = {}
        for line in self.lines:
            pk = ids[build_user_name(line.source)]
            times, last = found.get(pk, (0, line.at))
            found[pk] = bulk.LoginTotals(times + 1, max(last, line.at))
        return found

    def _marks(self, ids: dict[str, int]) -> Iterator[tuple[int, str, date]]:
        types = dict(User.objects.filter(pk__in=list(ids.values())).values_list("pk", "user_type"))
        for person, day in dict.fromkeys((line.source, day_of(line.at)) for line in self.lines):
            pk = ids[build_user_name(person)]
            yield pk, types[pk], day

    def _follows(self, ids: dict[str, int]) -> Iterator[NewFollow]:
        for (follower, followee), at in self.pairs.items():
            yield NewFollow(ids[build_user_name(follower)], ids[build_user_name(followee)], at)

    def _posts(self, ids: dict[str, int]) -> Iterator[NewPost]:
        for line in self.lines:
            yield NewPost(ids[build_user_name(line.source)], f"collegemsg:{line.line}", invent_text(line.line), line.at)
