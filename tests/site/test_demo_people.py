"""The demo's readers."""

from datetime import date

import pytest

from accounts.models import LoginStats, User
from config.demo_people import NAMES, STAFF, load_demo_people
from loginlog import selectors
from mirror import relay, verify

pytestmark = pytest.mark.on_sqlite

UNTIL = date(2026, 3, 1)


@pytest.mark.django_db(transaction=True)
def test_readers_and_half_a_year_of_logins_are_there_and_the_mirrors_agree() -> None:
    assert load_demo_people(UNTIL) == len(NAMES) + len(STAFF)
    for stats in LoginStats.objects.select_related("user"):
        days = selectors.login_days(stats.user, date(2025, 8, 1), UNTIL)
        assert len(days) == stats.login_times
        assert days[-1] == stats.last_login_time.date()
    relay.drain_all()
    assert verify.verify() == []


@pytest.mark.django_db(transaction=True)
def test_loading_the_readers_again_changes_nothing() -> None:
    load_demo_people(UNTIL)
    before = list(LoginStats.objects.order_by("pk").values()), User.objects.count()
    load_demo_people(UNTIL)
    assert (list(LoginStats.objects.order_by("pk").values()), User.objects.count()) == before
