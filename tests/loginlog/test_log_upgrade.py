"""The migration that moves the login log to SQL loses nothing of a site of the former release."""

from collections.abc import Iterator
from datetime import date
from importlib import import_module
from typing import Any
from unittest.mock import Mock

import pytest
from django.apps import apps as django_apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Permission
from redis import Redis

from accounts.models import User
from loginlog import selectors
from loginlog.models import LoginMonth
from loginlog.storage.bitmaps import bit_of_day
from mirror.redis import tag_of
from mirror.verify import runs
from tests.support.loginlog.tools import ago, make_user, mirror_logins
from tests.support.migrations import upgrade, use_former_release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
BEFORE, AFTER = [("loginlog", "0003_report_permission")], [("loginlog", "0004_login_months")]
OLD = date(2017, 10, 25)


@pytest.fixture
def former() -> Iterator[Any]:
    """Return the models of the former release, with their tables."""
    with use_former_release(BEFORE) as apps:
        yield apps
    create_permissions(django_apps.get_app_config("loginlog"), verbosity=0)


class Former:
    """The former login log: dense ids and months in SQL, bitmaps and marks in Redis."""

    def __init__(self, apps: Any, redis: Redis) -> None:
        self.apps, self.redis, self.tag = apps, redis, tag_of("loginlog")

    def add(self, user: User, *days: date, kind: str = "client") -> None:
        number, _ = self.apps.get_model("loginlog", "Number").objects.get_or_create(user_id=user.pk)
        for day in days:
            rows = self.apps.get_model("loginlog", "MonthBits").objects
            row, _ = rows.get_or_create(number=number, month=day.replace(day=1), user_type=kind)
            rows.filter(pk=row.pk).update(bits=row.bits | bit_of_day(day))
            self.redis.setbit(f"{self.tag}loginDay_{day}_{kind}", number.pk, 1)

    def mark(self, user_id: int, day: date, kind: str = "client") -> None:
        name = f"loginLog_{day:%Y-%m}_{kind}_{user_id}"
        self.redis.setbit(f"{self.tag}{name}", day.day, 1)
        self.redis.zadd(f"mirror:marks:{self.tag or 'loginlog'}", {name: 1, f"loginDay_{day}_{kind}:0": 2})


def test_logins_of_the_former_release_are_taken_over(
    former: Any, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob, carol, erased = (make_user(name) for name in ("alice", "bob", "carol", "erased"))
    log = Former(former, redis)
    log.add(alice, ago(1), OLD)
    log.add(bob, ago(2), kind="office")
    log.mark(alice.pk, ago(0))
    log.mark(carol.pk, ago(0), "office")
    log.mark(carol.pk + 70, ago(0))  # of a user that does not exist
    log.mark(bob.pk, ago(1))
    number = former.get_model("loginlog", "Number").objects.get(user_id=bob.pk)
    former.get_model("loginlog", "Unmarked").objects.create(number=number, day=ago(1))
    redis.set(f"{log.tag}loginlog:population", "x")
    redis.set(f"mirror:restored:{log.tag or 'loginlog'}", "a marker")
    log.mark(erased.pk, ago(0))  # it was erased while Redis was away
    number = former.get_model("loginlog", "Number").objects.create()
    former.get_model("loginlog", "Erased").objects.create(number=number, user_pk=erased.pk)
    before = {key: redis.dump(key) for key in redis.scan_iter()}
    migration = import_module("loginlog.migrations.0004_login_months")
    with monkeypatch.context() as patch:
        patch.setattr(migration, "_move_permission", Mock(side_effect=ZeroDivisionError))
        with pytest.raises(ZeroDivisionError):
            upgrade(AFTER)
    assert {key: redis.dump(key) for key in redis.scan_iter()} == before
    upgrade(AFTER)
    assert selectors.find_login_days(erased.pk, OLD, ago(0)) == []
    expected = {(alice.pk, ago(1)), (alice.pk, OLD), (alice.pk, ago(0)), (bob.pk, ago(2)), (carol.pk, ago(0))}
    for _ in range(2):
        found = {(pk, day) for pk in (alice.pk, bob.pk, carol.pk) for day in selectors.find_login_days(pk, OLD, ago(0))}
        assert found == expected
        assert set(selectors.find_active_ids_of_any_type(ago(2), ago(0))) == {alice.pk, bob.pk, carol.pk}
        mirror_logins()
    assert [row.month for row in LoginMonth.objects.filter(is_expired=True)] == [OLD.replace(day=1)]
    assert not [key for key in redis.scan_iter() if b"loginlog:" in key and b"mirror:" not in key]
    assert not redis.exists(f"mirror:restored:{log.tag or 'loginlog'}")
    assert redis.bitcount(f"{log.tag}loginDay_{ago(0)}_client") == 1
    assert runs.verify(["login_month"]) == []


def test_a_user_keeps_the_right_to_see_the_report(former: Any) -> None:
    user = make_user("alice")
    kind, _ = former.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="loginlog", model="daybits"
    )
    permission, _ = former.get_model("auth", "Permission").objects.get_or_create(
        codename="view_report", content_type=kind, defaults={"name": "Can view the login report"}
    )
    user.user_permissions.add(Permission.objects.get(pk=permission.pk))
    upgrade(AFTER)
    assert User.objects.get(pk=user.pk).has_perm("loginlog.view_report")
    moved = Permission.objects.get(codename="view_report", content_type__app_label="loginlog")
    assert moved.content_type.model == "loginmonth"


def test_the_migration_works_with_an_empty_log(former: Any) -> None:
    upgrade(AFTER)
    assert not LoginMonth.objects.exists()
    assert selectors.find_first_day() is None
