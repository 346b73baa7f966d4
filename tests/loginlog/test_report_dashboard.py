"""The login log on the admin's start page."""

from datetime import date, timedelta

import pytest
from django.test import Client

from accounts.models import User
from loginlog.days import today
from loginlog.models import LoginMonth
from loginlog.reports import dashboard
from mirror.redis.recorder import record
from mirror.relay import drains
from tests.support.loginlog import naive, tools
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db(transaction=True)


def test_line_year_and_cohorts_equal_sets() -> None:
    marks = tools.random_marks(tools.make_users(10), today() - timedelta(days=200), today())
    tools.write_marks(marks)
    found = dashboard.build_dashboard(today())
    assert len(found.months) == 12
    assert found.months[0].sheet.first == today().replace(day=1)
    for month in found.months:
        first = month.sheet.first
        last = min((first + timedelta(days=31)).replace(day=1) - timedelta(days=1), today())
        days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        counts = [len(naive.active(marks, day, day)) for day in days]
        assert month.average == sum(counts) / len(counts)
        assert month.most == max(counts)
        assert month.busiest == (days[counts.index(max(counts))] if max(counts) else None)
    for cohort in found.cohorts:
        new = naive.active(marks, date.min, cohort.period.last) - naive.active(
            marks, date.min, cohort.period.first - timedelta(days=1)
        )
        assert cohort.size == len(new)
    assert len(found.line.dates) == 3


def test_the_dashboard_takes_two_round_trips_per_month_and_three_more() -> None:
    tools.write_marks(tools.random_marks(tools.make_users(3), today() - timedelta(days=200), today()))
    with record() as seen:
        dashboard.build_dashboard(today())
    assert seen.round_trips <= 2 * 12 + 3
    assert len(seen.sql) <= 12 + 2


def test_an_empty_log_has_a_hint_and_others_show_the_months(client: Client) -> None:
    user = User.objects.create_superuser("ken thompson")
    client.force_login(user)
    LoginMonth.objects.all().delete()
    drains.drain_all()
    html = client.get("/admin/").content.decode()
    assert "No logins yet." in html
    tools.write_marks({(today(), "client", user.pk)})
    html = client.get("/admin/").content.decode()
    assert html.count('id="login-line"') == 1
    assert html.count('class="sheet-of-days"') == 12
    assert find_policy_violations(html.split('id="login-line"')[1].split("</section>")[0]) == []


@pytest.mark.parametrize(("day", "first"), [(date(2026, 12, 5), 1), (date(2026, 1, 31), 2), (date(2024, 2, 29), 3)])
def test_the_dashboard_has_the_twelve_months_up_to_today(day: date, first: int) -> None:
    found = dashboard.build_dashboard(day)
    assert [month.sheet.first.month for month in reversed(found.months)] == [
        (first + n - 1) % 12 + 1 for n in range(12)
    ]
