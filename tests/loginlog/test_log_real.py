"""The logins of CollegeMsg (a message is a login of who wrote it), held against counting in the file itself."""

import os
import subprocess
from datetime import UTC, date, datetime, timedelta

import pytest
from django.conf import settings
from redis import Redis

from accounts.models import User
from config.collegemsg import messages, name
from loginlog import expiry, selectors, services
from loginlog.reading import Span
from tests.support.loginlog.tools import put_back, sync

FILE = settings.BASE_DIR.parent / "shared" / "data" / "collegemsg" / "CollegeMsg.txt"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not FILE.exists() and "CI" not in os.environ, reason="needs CollegeMsg.txt in ../shared/data/collegemsg"
    ),
]
FIRST, LAST = date(2004, 4, 15), date(2004, 10, 26)
# Twenty ranges: days, weeks, months and their ends, the whole, and none.
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


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _by_awk(first: date, last: date) -> set[str]:
    """Who wrote from first to last, as awk finds them."""
    program = "$3 >= from && $3 < to { print $1 }"
    limits = ["-v", f"from={_seconds(first)}", "-v", f"to={_seconds(last + timedelta(days=1))}"]
    found = subprocess.run(["awk", *limits, program, str(FILE)], capture_output=True, text=True, check=True)
    return {name(int(line)) for line in found.stdout.split()}


@pytest.mark.django_db(transaction=True)
def test_in_twenty_ranges_the_active_users_are_those_of_the_file(redis: Redis) -> None:
    assert len(set(RANGES)) == 20
    seen = list(messages(FILE))
    User.objects.bulk_create([User(username=name(n)) for n in sorted({m.source for m in seen})], batch_size=500)
    ids = {int(username.split()[1]): pk for pk, username in User.objects.values_list("pk", "username")}
    put_back()
    marks = {(ids[m.source], "client", m.at.date()) for m in seen}
    assert services.mark_many((ids[m.source], "client", m.at.date()) for m in seen) == len(marks)
    _check()
    sync()
    expiry.expire(31)
    assert not list(redis.scan_iter("*loginLog_*"))
    _check()


def _check() -> None:
    names = dict(User.objects.values_list("pk", "username"))
    wanted = [_by_awk(first, last) for first, last in RANGES]
    for (first, last), people in zip(RANGES, wanted, strict=True):
        assert {names[pk] for pk in selectors.active_any(first, last)} == people
    assert selectors.active_counts([Span(*span, "client") for span in RANGES]) == list(map(len, wanted))
