"""The readers of the demo."""

from datetime import date, timedelta
from io import BytesIO
from random import Random

import pytest
from PIL import Image

from accounts.models import LoginStats, User
from demo.community.profiles import _paint_picture
from demo.logins import ROLES_BY_LOGIN
from demo.people import HISTORY_DAYS, READER_NAMES, STAFF_NAMES, load_demo_logins, load_demo_people
from loginlog import selectors, services
from mirror.relay import drains
from mirror.verify import runs

UNTIL = date(2026, 3, 1)


@pytest.mark.django_db(transaction=True)
def test_demo_has_readers_with_half_a_year_of_logins() -> None:
    assert load_demo_people(UNTIL) == len(READER_NAMES) + len(STAFF_NAMES)
    for stats in LoginStats.objects.select_related("user"):
        days = selectors.find_login_days(stats.user, date(2025, 8, 1), UNTIL)
        assert len(days) == stats.login_times
        assert days[-1] == stats.last_login_time.date()
    drains.drain_all()
    assert runs.verify() == []


@pytest.mark.django_db(transaction=True)
def test_demo_users_get_half_a_year_of_logins_and_keep_earlier_ones() -> None:
    """Loading the logins twice has the same result as loading them once."""
    users = [User.objects.create_user(name) for name in ROLES_BY_LOGIN]
    own = UNTIL - timedelta(days=HISTORY_DAYS + 40)
    services.mark_login(users[0], own)
    found = []
    for _ in range(2):
        assert load_demo_logins(ROLES_BY_LOGIN, UNTIL) == len(users)
        found.append([selectors.find_login_days(user, own, UNTIL) for user in users])
    assert found[0] == found[1]
    assert found[0][0][0] == own
    for user, days in zip(users, found[0], strict=True):
        months = {(day.year, day.month) for day in days if day != own}
        assert len(months) >= 6
        assert LoginStats.objects.get(user=user).login_times == len([day for day in days if day != own])
    drains.drain_all()
    assert runs.verify() == []


def test_pictures_of_demo_readers_are_drawings_with_few_colours() -> None:
    random = Random(1)
    for _ in range(8):
        with Image.open(BytesIO(_paint_picture(random))) as picture:
            assert picture.size == (960, 960)
            colours = picture.getcolors()
            assert colours
            assert (len(colours), max(colours)[0] < 0.8 * 960 * 960) == (4, True)


@pytest.mark.django_db(transaction=True)
def test_loading_the_readers_twice_changes_nothing() -> None:
    load_demo_people(UNTIL)
    before = list(LoginStats.objects.order_by("pk").values()), User.objects.count()
    load_demo_people(UNTIL)
    assert (list(LoginStats.objects.order_by("pk").values()), User.objects.count()) == before
