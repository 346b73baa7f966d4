"""A state machine that compares the login log with a plain table of (user, type, day).

After any operations in any order, every interface equals the table. Only marks that SQL did not have may be lost when
Redis is emptied.
"""

import math
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from accounts.models import User
from loginlog import services
from loginlog.archive import expiry, loading
from loginlog.corrections import settling
from loginlog.models import DayBits, Erased, MonthBits, Number, Owed, Unmarked
from loginlog.storage import dense_ids, direct
from mirror.backup.restore import restore
from mirror.backup.verify import verify
from mirror.models import BackupState
from mirror.redis.clients import breaker, relay_client
from tests.support import state_machines
from tests.support.loginlog.tools import (
    TYPES,
    Row,
    StopAt,
    Stopped,
    ago,
    assert_selectors_agree,
    backup,
    make_user,
    restore_login_log,
    sync,
)

FLUSH_STEPS = ["claim", "read", "check", "save", "keep", "clear"]
EXPIRY_STEPS = ["flush", "write", "remove", "removed", "forget"]
# Ends of months and years, a leap day, and days around the limit of the expiry.
DAYS = [
    date(2019, 12, 31), date(2020, 1, 1), date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 1), date(2020, 12, 31),
    date(2021, 1, 1), *(ago(n) for n in (0, 1, 5, 30, 31, 32, 45, 61, 62, 63, 75, 95)),
]  # fmt: skip
USERS = st.integers(0, 3)
ENDS = st.sampled_from([*DAYS, *(day + timedelta(days=1) for day in DAYS), *(day - timedelta(days=1) for day in DAYS)])


class Log(RuleBasedStateMachine):
    """The state machine. ``rows`` is the oracle; ``unsaved`` has the rows that SQL may still lack."""

    def __init__(self) -> None:
        super().__init__()
        relay_client().flushdb()
        for model in (Owed, Unmarked, MonthBits, DayBits, Erased, Number, User, BackupState):
            model.objects.all().delete()
        dense_ids.dense_id_cache.clear()
        direct.owed_to_redis.maybe = False
        breaker.reset()
        self.people = [make_user(f"reader {n}", TYPES[n % 2]) for n in range(4)]
        self.rows: set[Row] = set()
        self.unsaved: set[Row] = set()
        self.written: list[Path] = []
        restore_login_log()

    @rule(who=USERS, day=st.sampled_from(DAYS))
    def mark(self, who: int, day: date) -> None:
        user = self.people[who]
        row = (user.pk, user.user_type, day)
        new = services.mark_login(user, day)
        assert new or row in self.rows
        self.unsaved |= {row} - self.rows
        self.rows.add(row)

    @rule(marks=st.lists(st.tuples(USERS, st.sampled_from(TYPES), st.sampled_from(DAYS)), max_size=20))
    def mark_many(self, marks: list[tuple[int, str, date]]) -> None:
        rows = {(self.people[who].pk, kind, day) for who, kind, day in marks}
        services.mark_logins(sorted(rows))
        self.unsaved |= rows - self.rows
        self.rows |= rows

    @rule(who=USERS, day=st.sampled_from(DAYS))
    def mark_without_redis(self, who: int, day: date) -> None:
        user = self.people[who]
        with no_redis():
            services.mark_login(user, day)
        self.rows.add((user.pk, user.user_type, day))
        self.unsaved.discard((user.pk, user.user_type, day))

    @rule(who=USERS)
    def change_type(self, who: int) -> None:
        user = self.people[who]
        user.user_type = TYPES[1 - TYPES.index(user.user_type)]
        user.save()

    @rule()
    def sync(self) -> None:
        sync()
        self.unsaved.clear()

    @rule(step=st.sampled_from(FLUSH_STEPS))
    def sync_killed(self, step: str) -> None:
        self._killed(lambda: sync(step=StopAt(step)), saved=step in ("keep", "clear"))

    @rule(older_than=st.sampled_from([31, 62, 400]))
    def expire(self, older_than: int) -> None:
        done = expiry.expire_months(older_than)
        self.unsaved.clear()
        self.written += [d.file for d in done if d.file]
        assert all(d.kept == 0 for d in done)

    @rule(step=st.sampled_from(EXPIRY_STEPS), count=st.integers(1, 3))
    def expire_killed(self, step: str, count: int) -> None:
        self._killed(lambda: expiry.expire_months(31, step=StopAt(step, count)), saved=step != "flush")

    @rule()
    def settle(self) -> None:
        assert settling.settle_redis()

    @rule(again=st.booleans())
    def restore_login_log(self, again: bool) -> None:
        restore(backup(), again=again)

    @rule(data=st.data())
    def load(self, data: st.DataObject) -> None:
        if self.written:
            loading.load_file(data.draw(st.sampled_from(self.written)))

    @rule(who=USERS, for_good=st.booleans(), away=st.booleans())
    def erase(self, who: int, for_good: bool, away: bool) -> None:
        user = self.people[who]
        self.rows = {row for row in self.rows if row[0] != user.pk}
        self.unsaved = {row for row in self.unsaved if row[0] != user.pk}
        with no_redis() if away else nullcontext():
            if for_good:
                user.delete()
                self.people[who] = make_user(f"reader {who}")
            else:
                services.erase_user(user)
        settling.settle_redis()

    @rule(who=USERS, day=st.sampled_from(DAYS), away=st.booleans())
    def unmark(self, who: int, day: date, away: bool) -> None:
        user = self.people[who]
        gone = {row for row in self.rows if (row[0], row[2]) == (user.pk, day)}
        with no_redis() if away else nullcontext():
            removed = services.remove_login(user, day)
        assert bool(removed) == bool(gone) or (away and not removed)
        self.rows -= gone
        self.unsaved -= gone
        settling.settle_redis()

    @rule()
    def lose_redis(self) -> None:
        relay_client().flushdb()
        self.rows -= self.unsaved
        self.unsaved.clear()

    @rule()
    def another_process(self) -> None:
        """Continue as a new process with empty caches, after the owed bitmaps reached Redis."""
        settling.settle_redis()
        dense_ids.dense_id_cache.clear()

    @invariant()
    def says_what_the_table_says(self) -> None:
        self._compare((DAYS[0], ago(0)), (ago(30), ago(0)))

    @rule(a=ENDS, b=ENDS)
    def any_range(self, a: date, b: date) -> None:
        self._compare((min(a, b), max(a, b)), (a, a))

    @rule()
    def at_rest_both_sides_agree(self) -> None:
        settling.settle_redis()
        sync()
        self.unsaved.clear()
        restore_login_log()
        assert verify(backup()) == []
        with no_redis():
            self._compare((DAYS[0], ago(0)))

    def _compare(self, *ranges: tuple[date, date]) -> None:
        assert_selectors_agree(self.rows, [user.pk for user in self.people], ranges)

    def _killed(self, work: Callable[[], Any], saved: bool) -> None:
        """Run work that may stop at any step. While Redis is up, it loses nothing."""
        try:
            work()
        except Stopped:
            if not saved:
                return
        self.unsaved.clear()


@contextmanager
def no_redis() -> Generator[None, None, None]:
    """Keep the breaker open, so that Redis is not used."""
    breaker._until = math.inf
    try:
        yield
    finally:
        breaker.reset()


EXAMPLES = int(os.environ.get("LOGINLOG_EXAMPLES", "10"))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_interface_equals_a_plain_table_after_any_operations() -> None:
    state_machines.run_machine(Log, examples=EXAMPLES, steps=20)
