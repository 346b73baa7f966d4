"""Compare the active users in twenty ranges of days with a count over a CollegeMsg file."""

import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from accounts.models import User
from demo.collegemsg import build_user_name
from loginlog import selectors
from loginlog.storage.reading import Span

FIRST, LAST = date(2004, 4, 15), date(2004, 10, 26)
# Single days, weeks, months, ranges around the ends of months, the whole file, and ranges outside it.
RANGES = [
    (FIRST, LAST),
    (FIRST, FIRST),
    (LAST, LAST),
    (date(2004, 1, 1), date(2004, 4, 14)),
    (date(2004, 10, 27), date(2005, 1, 1)),
    *((date(2004, month, 1), date(2004, month + 1, 1) - timedelta(days=1)) for month in range(4, 11)),
    *((day, day + timedelta(days=6)) for day in (date(2004, 4, 28), date(2004, 5, 30), date(2004, 8, 29), LAST)),
    (date(2004, 4, 30), date(2004, 5, 1)),
    (date(2004, 5, 31), date(2004, 5, 31)),
    (date(2004, 6, 30), date(2004, 7, 1)),
    (date(2004, 5, 2), date(2004, 8, 30)),
]


def check_ranges(file: Path) -> None:
    """Check the active users and their number in each range against the file."""
    assert len(set(RANGES)) == 20
    names = dict(User.objects.values_list("pk", "username"))
    wanted = [_find_active(file, first, last) for first, last in RANGES]
    for (first, last), people in zip(RANGES, wanted, strict=True):
        assert {names[pk] for pk in selectors.find_active_ids_of_any_type(first, last)} == people
    assert selectors.count_active_in_spans([Span(*span, "client") for span in RANGES]) == list(map(len, wanted))


def _find_active(file: Path, first: date, last: date) -> set[str]:
    """Return the names of the senders of messages from ``first`` to ``last``, found with awk."""
    program = "$3 >= from && $3 < to { print $1 }"
    limits = ["-v", f"from={_seconds(first)}", "-v", f"to={_seconds(last + timedelta(days=1))}"]
    found = subprocess.run(["awk", *limits, program, str(file)], capture_output=True, text=True, check=True)
    return {build_user_name(int(line)) for line in found.stdout.split()}


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
