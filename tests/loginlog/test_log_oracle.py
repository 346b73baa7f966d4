"""A state machine that compares the login log with a plain table of (user, type, day).

After any operations in any order, every interface equals the table, whether Redis or SQL answers.
"""

import math
import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from accounts.models import User
from loginlog import services
from loginlog.archive import expiry, loading, log_files
from loginlog.models import LoginMonth
from loginlog.storage import bitmaps
from loginlog.storage.synchronization import sync_months
from mirror.models import Change, State
from mirror.read import read_from_sql
from mirror.redis.clients import breaker, relay_client
from mirror.relay import drains
from mirror.verify import runs
from tests.support import state_machines
from tests.support.killed import Killed, before
from tests.support.loginlog.tools import (
    TYPES,
    Row,
    ago,
    assert_selectors_agree,
    make_user,
    mirror_logins,
)

pytestmark = pytest.mark.also_on("sqlite")

EXPIRY_STEPS = ["write", "remove", "removed", "forget"]
# Ends of months and years, a leap day, and days around the limit of the expiry.
DAYS = [
    date(2019, 12, 31), date(2020, 1, 1), date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 1), date(2020, 12, 31),
    date(2021, 1, 1), *(ago(n) for n in (0, 1, 5, 30, 31, 32, 45, 61, 62, 63, 75, 95)),
]  # fmt: skip
# Both ranges together have all these days. The years between them are compared at rest and by ``any_range``.
OLD_DAYS = (DAYS[0], date(2021, 1, 2))
RECENT_DAYS = (ago(95), ago(0))
USERS = st.integers(0, 3)
ENDS = st.sampled_from([*DAYS, *(day + timedelta(days=1) for day in DAYS), *(day - timedelta(days=1) for day in DAYS)])


class Log(RuleBasedStateMachine):
    """The state machine. ``rows`` is the oracle, and ``written`` has the log files."""

    def __init__(self) -> None:
        super().__init__()
        relay_client().flushdb()
        for model in (LoginMonth, User, Change, State):
            model.objects.all().delete()
        breaker.reset()
        self.people = [make_user(f"reader {n}", TYPES[n % 2]) for n in range(4)]
        self.rows: set[Row] = set()
        self.written: list[Path] = []
        self.is_lost = False  # Redis was emptied, and no rebuild has filled it since
        mirror_logins()

    @rule(who=USERS, day=st.sampled_from(DAYS), away=st.booleans())
    def mark(self, who: int, day: date, away: bool) -> None:
        user = self.people[who]
        row = (user.pk, user.user_type, day)
        with no_redis() if away else nullcontext():
            assert services.mark_login(user, day) == (row not in self.rows)
        self.rows.add(row)

    @rule(marks=st.lists(st.tuples(USERS, st.sampled_from(TYPES), st.sampled_from(DAYS)), max_size=20))
    def mark_many(self, marks: list[tuple[int, str, date]]) -> None:
        rows = {(self.people[who].pk, kind, day) for who, kind, day in marks}
        assert services.mark_logins(sorted(rows)) == len(rows - self.rows)
        self.rows |= rows

    @rule(who=USERS)
    def change_type(self, who: int) -> None:
        user = self.people[who]
        user.user_type = TYPES[1 - TYPES.index(user.user_type)]
        user.save()

    @rule()
    def drain(self) -> None:
        drains.drain_all()

    @rule()
    def sync(self) -> None:
        drains.drain_all()
        assert sync_months().repaired == 0 or self.is_lost
        assert sync_months().repaired == 0

    @rule(older_than=st.sampled_from([31, 62, 400]), from_sql=st.booleans())
    def expire(self, older_than: int, from_sql: bool) -> None:
        done = expiry.expire_months(older_than, from_sql=from_sql)
        assert all(d.kept == 0 for d in done)
        files = [d.file for d in done if d.file]
        self.written += files
        if from_sql:
            self.rows -= self._rows_in(files)

    @rule(step=st.sampled_from(EXPIRY_STEPS), count=st.integers(1, 3))
    def expire_killed(self, step: str, count: int) -> None:
        with suppress(Killed):
            expiry.expire_months(31, step=before(step, nth=count))

    @rule(data=st.data())
    def load(self, data: st.DataObject) -> None:
        if self.written:
            file = data.draw(st.sampled_from(self.written))
            if file.exists():
                loading.load_file(file)
                self.rows |= self._rows_in([file])

    @rule(who=USERS, for_good=st.booleans(), away=st.booleans())
    def erase(self, who: int, for_good: bool, away: bool) -> None:
        user = self.people[who]
        self.rows = {row for row in self.rows if row[0] != user.pk}
        with no_redis() if away else nullcontext():
            if for_good:
                user.delete()
                self.people[who] = make_user(f"reader {who}")
            else:
                services.erase_user(user)

    @rule(who=USERS, day=st.sampled_from(DAYS), away=st.booleans())
    def unmark(self, who: int, day: date, away: bool) -> None:
        user = self.people[who]
        gone = {row for row in self.rows if (row[0], row[2]) == (user.pk, day)}
        with no_redis() if away else nullcontext():
            assert services.remove_login(user, day) == bool(gone)
        self.rows -= gone

    @rule()
    def lose_redis(self) -> None:
        relay_client().flushdb()
        self.is_lost = True

    @rule()
    def rebuild(self) -> None:
        mirror_logins()
        self.is_lost = False

    @invariant()
    def says_what_the_table_says(self) -> None:
        self._compare(OLD_DAYS, RECENT_DAYS)

    @rule(a=ENDS, b=ENDS)
    def any_range(self, a: date, b: date) -> None:
        self._compare((min(a, b), max(a, b)), (a, a))

    @rule()
    def at_rest_both_sides_agree(self) -> None:
        mirror_logins()
        self.is_lost = False
        assert runs.verify(["login_month"]) == []
        with no_redis():
            self._compare((DAYS[0], ago(0)))

    def _compare(self, *ranges: tuple[date, date]) -> None:
        people = [user.pk for user in self.people]
        with read_from_sql():
            assert_selectors_agree(self.rows, people, ranges)
        drains.drain_all()
        assert_selectors_agree(self.rows, people, ranges)

    def _rows_in(self, files: list[Path]) -> set[Row]:
        """Return the rows in these files of users that exist."""
        known = {user.pk for user in self.people}
        lines = [line for file in files for _, line in log_files.read_lines(file)]
        return {
            (line.name.user_id, line.name.user_type, day)
            for line in lines
            if line.name.user_id in known
            for day in bitmaps.list_days(line.name.month, line.bits)
        }


@contextmanager
def no_redis() -> Generator[None, None, None]:
    """Keep the breaker open, so that Redis is not used."""
    breaker._until = math.inf
    try:
        yield
    finally:
        breaker.reset()


EXAMPLES = int(os.environ.get("LOGINLOG_EXAMPLES", "10"))


@pytest.mark.slow(40)
@pytest.mark.django_db(transaction=True)
def test_every_interface_equals_a_plain_table_after_any_operations() -> None:
    state_machines.run_machine(Log, examples=EXAMPLES, steps=20)
