"""DAU, WAU, MAU and retention from bitmaps, compared with sets, and the number of reads."""

from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loginlog.reports import analytics, cohorts
from loginlog.reports.cohorts import PERIOD_KINDS, READINGS, PeriodKind, Reading
from loginlog.storage.reading import Span
from tests.support.loginlog import naive
from tests.support.loginlog.naive import A_DAY, Mark, bitmap

pytestmark = pytest.mark.also_on("cluster")

TYPES = ("client", "office")
LAST = date(2024, 3, 14)
MARKS = st.sets(
    st.tuples(st.integers(0, 120).map(lambda n: LAST - timedelta(days=n)), st.sampled_from(TYPES), st.integers(0, 150)),
    max_size=80,
)


class Log:
    """A log that counts its reads."""

    def __init__(self, marks: set[Mark]) -> None:
        self.marks, self.asked = marks, 0

    def __call__(self, spans: Sequence[Span]) -> list[bytes]:
        self.asked += 1
        return [bitmap(naive.active(self.marks, *span)) for span in spans]

    @property
    def since(self) -> date | None:
        return min((day for day, _, _ in self.marks), default=None)


@given(MARKS, st.integers(0, 50))
@settings(max_examples=60)
def test_daily_weekly_and_monthly_users_equal_sets(marks: set[Mark], back: int) -> None:
    first = LAST - timedelta(days=back)
    for found in analytics.compute_activity(first, LAST, TYPES, Log(marks)):
        kind = found.user_type or None
        for width, numbers in ((1, found.dau), (7, found.wau), (30, found.mau)):
            days = [first + timedelta(days=n) for n in range(back + 1)]
            wanted = [len(naive.active(marks, day - timedelta(days=width - 1), day, kind)) for day in days]
            assert numbers == wanted, (found.user_type, width)


def test_users_of_two_types_are_counted_once() -> None:
    log = Log({(LAST, "client", 5), (LAST, "office", 5), (LAST, "office", 6)})
    assert [(found.user_type, found.dau) for found in analytics.compute_activity(LAST, LAST, TYPES, log)] == [
        ("", [2]),
        ("client", [1]),
        ("office", [2]),
    ]


@pytest.mark.parametrize("length", [1, 3, 4, 30, 366])
def test_activity_reads_sixteen_days_at_once(length: int) -> None:
    log = Log(set())
    analytics.compute_activity(LAST - timedelta(days=length - 1), LAST, TYPES, log)
    assert log.asked == analytics.count_calls(length) == (length + 29 + 15) // 16


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kind", PERIOD_KINDS)
@given(marks=MARKS)
@settings(max_examples=40)
def test_retention_equals_sets(kind: PeriodKind, reading: Reading, marks: set[Mark]) -> None:
    log = Log(marks)
    spans = cohorts.list_periods(LAST, kind, 3)
    found = analytics.compute_retention(spans, None, log, since=log.since, reading=reading, today=LAST)
    for i, cohort in enumerate(found):
        before = naive.active(marks, date.min, spans[i].first - A_DAY)
        new = naive.active(marks, spans[i].first, spans[i].last) - before
        ends = [span.last if reading == "on" else spans[-1].last for span in spans[i:]]
        wanted = [naive.count_returning(marks, new, span.first, end) for span, end in zip(spans[i:], ends, strict=True)]
        assert (cohort.size, [cell.count for cell in cohort.cells]) == (len(new), wanted)


def test_retention_of_one_type_starts_with_the_first_login_as_that_type() -> None:
    log = Log({(LAST - timedelta(days=7), "client", 5), (LAST, "office", 5)})
    spans = cohorts.list_periods(LAST, "week", 2)
    made = {
        kind: analytics.compute_retention(spans, kind, log, since=log.since, reading="on", today=LAST)
        for kind in (None, "office")
    }
    assert [cohort.size for cohort in made[None]] == [1, 0]
    assert [cohort.size for cohort in made["office"]] == [0, 1]


def test_retention_reads_a_log_of_any_length_once() -> None:
    log = Log({(LAST - timedelta(days=900), "client", 5)})
    spans = cohorts.list_periods(LAST, "week", 4)
    analytics.compute_retention(spans, None, log, since=log.since, reading="on", today=LAST)
    assert log.asked == 1


def test_an_empty_log_has_empty_cohorts_and_is_not_read() -> None:
    log = Log(set())
    spans = cohorts.list_periods(LAST, "month", 12)
    found = analytics.compute_retention(spans, None, log, since=log.since, reading="on", today=LAST)
    assert ([cohort.size for cohort in found], log.asked) == ([0] * 12, 0)
