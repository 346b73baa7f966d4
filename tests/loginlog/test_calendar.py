"""The user's own calendar: content, access and cost."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.utils import translation
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from loginlog import days, services
from loginlog.days import ONE_DAY, first_complete_month, today
from loginlog.reports import calendar, parameters
from loginlog.reports.parameters import Range
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from tests.support.loginlog import naive, tools
from tests.support.loginlog.naive import Mark
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}


def marked_days(marks: Iterable[Mark], user: User) -> set[date]:
    """Return the days on which one user was marked."""
    return {day for day, _, pk in marks if pk == user.pk}


@pytest.fixture
def alice() -> User:
    return tools.make_users(1)[0]


@pytest.fixture
def browser(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def test_a_year_begins_with_the_first_login_or_this_month(browser: Client, alice: User) -> None:
    def find_months(year: int) -> list[str]:
        html = browser.get(f"/loginlog/?from={year}-01-01&to={year}-12-31").content.decode()
        return re.findall(r'<tr id="m\d+-(\d+)"', html)

    now = today()
    every = [f"{month:02}" for month in range(1, 13)]
    assert find_months(now.year) == every[now.month - 1 :]
    assert find_months(2023) == every  # without logins
    tools.write_marks({(date(2024, month, 3), "client", alice.pk) for month in (4, 9)})
    assert find_months(2024) == every[3:]


def test_the_page_shows_a_sheet_and_the_days_of_each_month(browser: Client, alice: User) -> None:
    tools.write_marks({(date(2024, 2, day), "client", alice.pk) for day in (3, 4, 5, 29)})
    html = browser.get("/loginlog/?from=2024-01-01&to=2024-12-31").content.decode()
    assert html.count('<svg class="sheet-of-days"') == 11
    assert "<h1>My logins</h1>" in html
    assert "<details><summary>Choose dates</summary>" in html
    assert 'aria-label="February 2024: 4 days with a login: 3–5, 29"' in html
    assert '<a href="#m2024-02">' in html
    assert '<tr id="m2024-02" tabindex="-1">' in html
    assert html.count('<g class="s2">') == 4
    assert find_policy_violations(html) == []


def test_json_has_days_and_streaks(browser: Client, alice: User) -> None:
    marks: set[naive.Mark] = {(date(2024, 2, day), "client", alice.pk) for day in (3, 4, 5, 29)}
    tools.write_marks(marks | {(date(2024, 3, 1), "office", alice.pk), (today(), "client", alice.pk)})
    said = browser.get("/loginlog/?from=2024-02-04&to=2024-03-01", headers=JSON).json()
    assert said == {
        "from": "2024-02-04",
        "to": "2024-03-01",
        "total": 4,
        "longest_streak": 2,
        "current_streak": 1,
        "days": ["2024-02-04", "2024-02-05", "2024-02-29", "2024-03-01"],
    }


@pytest.mark.parametrize("seed", range(4))
def test_days_and_streaks_equal_plain_python(alice: User, seed: int) -> None:
    now = today()
    marks = tools.random_marks([alice], now - timedelta(days=500), now, seed)
    tools.write_marks(marks)
    own = marked_days(marks, alice)
    for shown in (
        parameters.year_range(now.year),
        parameters.year_range(now.year - 1),
        Range(now - 40 * ONE_DAY, now - 3 * ONE_DAY),
    ):
        found = calendar.build_calendar(alice, shown, now)
        wanted = {day for day in own if shown.has(day)}
        assert found.days == sorted(wanted)
        assert found.longest == naive.longest(wanted)
        assert found.current == (naive.streak_until(own, now) or naive.streak_until(own, now - ONE_DAY))


@pytest.mark.parametrize("length", [1, 365, 366, 367, 368, 800])
@pytest.mark.parametrize("ended", [0, 1, 2])
def test_a_streak_can_exceed_a_year(alice: User, length: int, ended: int) -> None:
    now = today()
    tools.write_marks({(now - timedelta(days=n + ended), "client", alice.pk) for n in range(length)})
    for shown in (parameters.year_range(now.year), parameters.year_range(2020)):
        assert calendar.build_calendar(alice, shown, now).current == (length if ended < 2 else 0)


def test_recent_days_take_one_round_trip_and_no_sql(alice: User) -> None:
    now, shown = today(), Range(first_complete_month(), today())
    tools.write_marks({(now - timedelta(days=n), "client", alice.pk) for n in range(0, 300, 3)})
    calendar.build_calendar(alice, shown, now)
    with record() as seen:
        assert calendar.build_calendar(alice, shown, now).days
    assert (seen.round_trips, seen.sql) == (1, [])


def test_a_year_takes_one_round_trip_and_one_query(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    now = date(2025, 9, 1)  # late enough for expired months in this year
    monkeypatch.setattr(days, "today", lambda: now)
    tools.write_marks({(now - timedelta(days=n), "client", alice.pk) for n in range(0, 300, 3)})
    with record() as seen:
        calendar.build_calendar(alice, parameters.year_range(now.year), now)
    assert (seen.round_trips, len(seen.sql)) == (1, 1)
    with record() as seen:  # the range lacks today, so the current streak needs another read
        assert calendar.build_calendar(alice, parameters.year_range(now.year - 1), now).current == 1
    assert (seen.round_trips, len(seen.sql)) == (2, 2)


def test_the_page_reads_the_log_once(browser: Client, alice: User) -> None:
    tools.write_marks({(today() - ONE_DAY, "client", alice.pk)})
    rebuild()
    browser.get("/loginlog/")
    with record() as seen:
        assert browser.get("/loginlog/").status_code == 200
    assert tools.count_round_trips(seen) == 1


def test_expired_days_come_from_sql(alice: User, redis: Redis) -> None:
    tools.write_marks({(date(2024, 2, day), "client", alice.pk) for day in (3, 4)})
    redis.flushall()
    with record() as seen:
        assert calendar.build_calendar(alice, parameters.year_range(2024), today()).days == [
            date(2024, 2, 3),
            date(2024, 2, 4),
        ]
    assert len([sql for sql, _ in seen.sql if "loginlog_loginmonth" in sql]) <= 2


def test_without_redis_sql_answers(browser: Client, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "open", lambda: True)
    for day in (3, 4, 29):
        services.mark_login(alice, date(2024, 2, day))
    with record() as seen:
        said = browser.get("/loginlog/?from=2024-01-01&to=2024-12-31", headers=JSON).json()
    assert said["days"] == ["2024-02-03", "2024-02-04", "2024-02-29"]
    assert tools.count_round_trips(seen) == 0


def test_users_see_only_their_own_days(browser: Client) -> None:
    other = User.objects.create_user("bob")
    tools.write_marks({(date(2024, 2, 3), "client", other.pk)})
    said = browser.get(f"/loginlog/?from=2024-01-01&to=2024-12-31&user={other.pk}", headers=JSON).json()
    assert said["days"] == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=soon", "is not a date"),
        ("from=2020-01-01&to=2026-01-01", "at most 366 days"),
        ("to=2999-01-01", "Choose"),
    ],
)
def test_an_invalid_range_is_refused_with_a_reason(browser: Client, query: str, words: str) -> None:
    response = browser.get(f"/loginlog/?{query}", headers=JSON)
    assert (response.status_code, words in response.json()["error"]["message"]) == (400, True)
    page = browser.get(f"/loginlog/?{query}")
    assert page.status_code == 400
    assert 'role="alert"' in page.content.decode()
    assert words in page.content.decode()


def test_refused_input_is_kept_and_escaped(browser: Client) -> None:
    html = browser.get("/loginlog/", {"from": '"><script>x</script>'}).content.decode()
    assert "<script>x" not in html
    assert "&lt;script&gt;" in html


def test_visitors_must_log_in_first(client: Client) -> None:
    response = client.get("/loginlog/?from=2024-01-01")
    assert (response.status_code, response["Location"]) == (
        302,
        "/accounts/login/?next=/loginlog/%3Ffrom%3D2024-01-01",
    )
    assert client.get("/loginlog/", headers=JSON).status_code == 401


@pytest.mark.parametrize("address", ["/loginlog/", "/loginlog/?from=x"])
def test_the_page_is_not_cached(browser: Client, address: str) -> None:
    said = browser.get(address)["Cache-Control"]
    assert said == "private, no-cache"


def test_other_methods_are_refused(browser: Client) -> None:
    assert browser.post("/loginlog/").status_code == 405


def test_years_link_to_their_neighbours_up_to_today(browser: Client) -> None:
    year = today().year
    html = browser.get("/loginlog/").content.decode()
    assert f"?from={year - 1}-01-01&amp;to={year - 1}-12-31" in html
    assert 'rel="next"' not in html
    before = browser.get(f"/loginlog/?from={year - 1}-01-01&to={year - 1}-12-31").content.decode()
    assert f"?from={year}-01-01&amp;to={year}-12-31" in before
    assert 'rel="prev"' not in browser.get("/loginlog/?from=1970-01-01&to=1970-12-31").content.decode()


def test_an_empty_year_has_a_hint(browser: Client) -> None:
    html = browser.get("/loginlog/?from=2001-01-01&to=2001-12-31").content.decode()
    assert "No logins in this period." in html
    assert "is marked here" in html


def test_the_page_is_translated(browser: Client, alice: User) -> None:
    tools.write_marks({(date(2024, 2, 3), "client", alice.pk)})
    with translation.override("zh-hans"):
        html = browser.get("/loginlog/?from=2024-01-01&to=2024-12-31", headers={"Accept-Language": "zh-hans"})
    assert "2024年2月" in html.content.decode()


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("America/New_York", datetime(2026, 3, 8, 4, 59, tzinfo=UTC), date(2026, 3, 7)),
        ("America/New_York", datetime(2026, 3, 9, 3, 59, tzinfo=UTC), date(2026, 3, 8)),  # a day of 23 hours
        ("America/New_York", datetime(2026, 11, 2, 4, 59, tzinfo=UTC), date(2026, 11, 1)),  # a day of 25 hours
        ("Pacific/Auckland", datetime(2025, 12, 31, 11, 0, tzinfo=UTC), date(2026, 1, 1)),
        ("Pacific/Apia", datetime(2011, 12, 30, 9, 59, tzinfo=UTC), date(2011, 12, 29)),  # 30 December was skipped
        ("Pacific/Apia", datetime(2011, 12, 30, 10, 0, tzinfo=UTC), date(2011, 12, 31)),
    ],
)
def test_days_follow_the_sites_time_zone(
    settings: Settings, alice: User, zone: str, moment: datetime, day: date
) -> None:
    settings.TIME_ZONE = zone
    services.mark_login(alice, moment)
    assert calendar.build_calendar(alice, parameters.year_range(day.year), today()).days == [day]
