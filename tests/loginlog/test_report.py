"""The login report for staff: numbers, access, CSV and cost."""

import csv
import io
from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from loginlog import selectors, services
from loginlog.days import ONE_DAY, today
from loginlog.models import LoginMonth
from loginlog.reports import analytics, cohorts
from loginlog.reports import staff as report
from loginlog.reports.parameters import EARLIEST_DAY
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay import drains
from tests.support.loginlog import naive, tools
from tests.support.loginlog.naive import Mark
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ken thompson"))
    LoginMonth.objects.filter(user__username="ken thompson").delete()  # so that the log has the marks of the test alone
    drains.drain_all()
    return client


@pytest.fixture
def marks() -> set[Mark]:
    """Mark a hundred days of twelve users."""
    found = tools.random_marks(tools.make_users(12), today() - timedelta(days=100), today())
    tools.write_marks(found)
    return found


def said(client: Client, query: str = "") -> Any:
    return client.get(f"/loginlog/report/?{query}", headers=JSON).json()


def test_the_numbers_of_each_day_equal_sets(staff: Client, marks: set[Mark]) -> None:
    first, last = today() - timedelta(days=40), today() - timedelta(days=2)
    found = said(staff, f"from={first}&to={last}")
    assert found["days"][0] == str(first)
    assert [line["user_type"] for line in found["activity"]] == ["all", "client", "office"]
    for line in found["activity"]:
        kind = None if line["user_type"] == "all" else line["user_type"]
        for name, width in (("dau", 1), ("wau", 7), ("mau", 30)):
            days = map(date.fromisoformat, found["days"])
            wanted = [len(naive.active(marks, day - timedelta(days=width - 1), day, kind)) for day in days]
            assert line[name] == wanted


@pytest.mark.parametrize("by", cohorts.PERIOD_KINDS)
@pytest.mark.parametrize("reading", cohorts.READINGS)
@pytest.mark.parametrize("kind", ["", "office"])
def test_cohorts_equal_sets(staff: Client, marks: set[Mark], by: str, reading: str, kind: str) -> None:
    found = said(staff, f"by={by}&reading={reading}&type={kind}")["retention"]
    assert (found["by"], found["reading"], found["user_type"]) == (by, reading, kind or "all")
    assert len(found["cohorts"]) == report.COHORT_PERIODS
    spans = [[date.fromisoformat(c["period"][end]) for end in ("first", "last")] for c in found["cohorts"]]
    for i, cohort in enumerate(found["cohorts"]):
        before = naive.active(marks, date.min, spans[i][0] - ONE_DAY, kind or None)
        new = naive.active(marks, spans[i][0], spans[i][1], kind or None) - before
        assert cohort["size"] == len(new)
        ends = [later[1] if reading == "on" else today() for later in spans[i:]]
        wanted = [
            len(new & naive.active(marks, later[0], end, kind or None))
            for later, end in zip(spans[i:], ends, strict=True)
        ]
        assert [cell["count"] for cell in cohort["cells"]] == wanted
        assert [cell["open"] for cell in cohort["cells"]] == [later[1] >= today() for later in spans[i:]]


def test_a_late_mark_moves_a_user_to_the_right_cohort(staff: Client) -> None:
    (user,) = tools.make_users(1)
    tools.write_marks({(today(), "client", user.pk)})
    assert [c["size"] for c in said(staff)["retention"]["cohorts"]] == [0] * 11 + [1]
    tools.write_marks({(today() - timedelta(days=21), "client", user.pk)})
    assert [c["size"] for c in said(staff)["retention"]["cohorts"]] == [0] * 8 + [1, 0, 0, 0]
    tools.write_marks({(today() - timedelta(days=1000), "office", user.pk)})
    assert [c["size"] for c in said(staff)["retention"]["cohorts"]] == [0] * 12


def test_the_page_has_charts_and_tables_and_marks_open_periods(staff: Client, marks: set[Mark]) -> None:
    html = staff.get("/loginlog/report/").content.decode()
    assert html.count('<svg class="plot-lines"') == 3
    assert html.count('<polyline class="dau"') == 3
    assert html.count('<span class="open-mark">*</span>') > 0
    assert "Retention by week of the first login" in html
    assert 'href="?from=' in html
    assert find_policy_violations(html) == []


def test_choices_link_to_the_same_report(staff: Client, marks: set[Mark]) -> None:
    html = staff.get("/loginlog/report/?from=2026-10-01&to=2026-10-02&by=month&type=office").content.decode()
    start = "?from=2026-10-01&amp;to=2026-10-02&amp;by="
    assert f'{start}month&amp;reading=after&amp;type=office#retention"' in html
    assert f'{start}week&amp;reading=on&amp;type=office#retention"' in html
    assert f'{start}month&amp;reading=on#retention"' in html
    assert "Retention by month of the first login" in html


def rows_of(client: Client, query: str) -> list[dict[str, str]]:
    response = client.get(f"/loginlog/report/?format=csv&{query}")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith("attachment; filename=")
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_csv_equals_json(staff: Client, marks: set[Mark]) -> None:
    found, rows = said(staff), rows_of(staff, "")
    assert len(rows) == 30 * 3
    for line in found["activity"]:
        own = [row for row in rows if row["type"] == line["user_type"]]
        assert [row["day"] for row in own] == found["days"]
        for name in ("dau", "wau", "mau"):
            assert [int(row[name]) for row in own] == line[name]


def test_csv_of_cohorts_equals_json(staff: Client, marks: set[Mark]) -> None:
    wanted = [
        (cohort["period"]["first"], cohort["size"], later, cell["count"], cell["open"])
        for cohort in said(staff, "by=month")["retention"]["cohorts"]
        for later, cell in enumerate(cohort["cells"])
    ]
    rows = rows_of(staff, "table=retention&by=month")
    assert wanted == [
        (row["cohort_first"], int(row["size"]), int(row["later"]), int(row["users"]), row["unfinished"] == "1")
        for row in rows
    ]


@pytest.mark.parametrize(
    "query",
    ["from=x", "from=2020-01-01&to=2025-01-01", "by=day", "reading=never", "type=root", "format=xls", "table=users"],
)
def test_invalid_parameters_are_refused_with_a_reason(staff: Client, query: str) -> None:
    response = staff.get(f"/loginlog/report/?{query}", headers=JSON)
    assert response.status_code == 400
    message = response.json()["error"]["message"]
    page = staff.get(f"/loginlog/report/?{query}")
    assert page.status_code == 400
    assert message.replace("&", "&amp;") in page.content.decode()


def test_visitors_must_log_in_and_other_users_are_refused(client: Client) -> None:
    assert client.get("/loginlog/report/")["Location"] == "/accounts/login/?next=/loginlog/report/"
    assert client.get("/loginlog/report/", headers=JSON).status_code == 401
    client.force_login(User.objects.create_user("alice"))
    assert client.get("/loginlog/report/").status_code == 403
    assert client.get("/loginlog/report/?format=csv").status_code == 403
    refused = client.get("/loginlog/report/", headers=JSON)
    assert (refused.status_code, refused["Content-Type"]) == (403, "application/json")


def test_staff_need_the_permission(client: Client) -> None:
    dora = User.objects.create_user("dora", is_staff=True)
    client.force_login(dora)
    paths = [f"/loginlog/report/?{query}" for query in ("", "format=csv", "format=csv&table=retention")]
    assert [client.get(path).status_code for path in paths] == [403] * 3
    assert client.get("/loginlog/report/", headers=JSON).status_code == 403
    index = client.get("/admin/").content.decode()
    assert "/loginlog/report/" not in index
    assert 'id="login-line"' not in index
    dora.user_permissions.add(Permission.objects.get(codename="view_report", content_type__app_label="loginlog"))
    assert [client.get(path).status_code for path in paths] == [200] * 3
    assert "/loginlog/report/" in client.get("/admin/").content.decode()
    User.objects.filter(pk=dora.pk).update(is_staff=False)
    assert client.get(paths[0]).status_code == 403


@pytest.mark.parametrize("query", ["", "format=csv", "from=x"])
def test_the_report_is_not_cached(staff: Client, query: str) -> None:
    kept = staff.get(f"/loginlog/report/?{query}")["Cache-Control"]
    assert kept == "private, no-cache"


def test_an_empty_log_has_a_hint(staff: Client) -> None:
    html = staff.get("/loginlog/report/").content.decode()
    assert "No logins yet." in html
    assert "manage.py loginlog mark" in html


@pytest.mark.parametrize("length", [1, 3, 4, 30, 366])
def test_a_report_takes_two_round_trips_per_sixteen_days_and_two_more(marks: set[Mark], length: int) -> None:
    asked = report.parse_query({"from": str(today() - timedelta(days=length - 1)), "to": str(today())}, today())
    with record() as seen:
        report.build_report(asked)
    assert seen.round_trips <= 2 * analytics.count_calls(length) + 2
    # Days that may have expired take one query per 16 days, the cohorts one, and the first day two.
    assert len(seen.sql) <= analytics.count_calls(length) + 3


def test_redis_has_all_bitmaps_for_a_recent_day(marks: set[Mark]) -> None:
    with record() as seen:
        analytics.compute_activity(today(), today(), tools.TYPES, selectors.read_unions)
    assert (seen.round_trips, seen.sql) == (2 * analytics.count_calls(1), [])


def test_a_report_never_scans_for_keys(marks: set[Mark]) -> None:
    with record() as seen:
        report.build_report(report.parse_query({}, today()))
    assert {command.name for command in seen.commands} <= {
        "MGET", "STRLEN", "GETRANGE", "BITOP", "SETBIT", "EXPIRE", "UNLINK",
    }  # fmt: skip


def test_sql_gives_the_same_report_without_redis(
    staff: Client, marks: set[Mark], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = said(staff)
    monkeypatch.setattr(breaker, "open", lambda: True)
    with record() as seen:
        assert said(staff) == wanted
    assert tools.count_round_trips(seen) == 0


def test_a_day_in_the_far_past_breaks_no_page(client: Client) -> None:
    """A log may have such a day, although the command refuses it."""
    staff = User.objects.create_superuser("dennis ritchie")
    services.mark_login(staff, date(1926, 1, 1))
    client.force_login(staff)
    for path in ("/admin/", "/loginlog/report/"):
        assert client.get(path).status_code == 200
    assert selectors.find_first_day() == EARLIEST_DAY


def test_a_day_without_logins_is_not_the_first_day() -> None:
    """The removal of the only login of a month removes the month."""
    user = User.objects.create_user("alice")
    for day in (today() - timedelta(days=100), today() - timedelta(days=40)):
        services.mark_login(user, day)
    services.remove_login(user, today() - timedelta(days=100))
    assert selectors.find_first_day() == today() - timedelta(days=40)
    services.remove_login(user, today() - timedelta(days=40))
    assert selectors.find_first_day() is None
