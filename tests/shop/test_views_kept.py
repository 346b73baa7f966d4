"""The retention of views in SQL: deletions change no list, ranking or recommendation."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Book
from shop import tasks
from shop.book_views import decay, retention
from shop.importer import synthetic
from shop.models import Order, Recommendation, View
from shop.recommend import build
from tests.shop.test_import_history import files, load, pairs
from tests.support.accounts.people import make_people
from tests.support.catalog.make import make_book
from tests.support.shop.book_views import PERIOD
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db(transaction=True)
Capture = pytest.CaptureFixture[str]
SESSION_DAYS = settings.SESSION_COOKIE_AGE / 86_400


@pytest.fixture(autouse=True)
def a_year(settings: Settings) -> None:
    """Keep users' views for a year."""
    settings.SHOP_VIEW_DAYS = 365


@pytest.fixture
def book() -> Book:
    return make_book()


def see(book: Book, days: float, user: User | None = None, number: int = 0) -> View:
    """Create a view, a number of days ago."""
    at = timezone.now() - timedelta(days=days)
    return View.objects.create(visitor=f"{number:064}", user=user, book=book, seen_at=at)


def test_anonymous_views_are_kept_for_a_session_and_users_views_for_longer(book: Book, settings: Settings) -> None:
    settings.SHOP_VIEW_PERIOD_SECONDS = PERIOD
    user = User.objects.create_user("ken")
    kept = [see(book, SESSION_DAYS - 0.1), see(book, SESSION_DAYS + 0.1, user), see(book, 364.9, user)]
    see(book, SESSION_DAYS + 0.1)
    see(book, 400)
    see(book, 365.1, user)
    before = decay.compute_scores_from_sql(timezone.now())
    assert retention.expire_views() == 3
    assert set(View.objects.all()) == set(kept)
    assert decay.compute_scores_from_sql(timezone.now()) == before
    assert retention.expire_views() == 0


def test_views_are_deleted_in_slices_oldest_first(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SLICE_SIZE", 2)
    user = User.objects.create_user("ken")
    for number in range(5):
        see(book, 30 + number, number=number)
        see(book, 400 + number, user, number)
    told, left = list[int](), list[int]()

    def tell(count: int) -> None:
        told.append(count)
        left.append(View.objects.filter(user=user).count())

    assert retention.expire_views(told=tell) == 10
    assert (told, left) == ([2, 2, 1, 2, 2, 1], [3, 1, 0, 0, 0, 0])
    see(book, 400)
    assert retention.expire_views(seconds=0) == 0, "there was no time"


def test_views_claimed_during_the_deletion_stay(book: Book) -> None:
    view, user = see(book, 100), User.objects.create_user("ken")

    def claimed(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("DELETE"):
            View.objects.update(user=user)
        return execute(sql, *rest)

    with connection.execute_wrapper(claimed):
        assert retention.expire_views() == 0
    assert View.objects.get() == view


def test_recommendations_are_equal_before_and_after_the_deletion(settings: Settings) -> None:
    people, seen, other = make_people([0] * 80), make_product("Seen"), make_product("Bought")
    for number, user in enumerate(people):
        see(seen.book, 300 if number < 60 else 500, user, number)
        if number % 2:
            at = timezone.now() - timedelta(days=299 if number < 60 else 499)
            Order.objects.filter(pk=make_order(user, other, key=f"k{number}", state="sent").pk).update(created_at=at)
    build.rebuild_recommendations()
    said = Recommendation.objects.get(product=seen).viewbuy
    assert [(pk, percent, viewers) for pk, _, percent, viewers in said] == [(other.pk, 50, 60)]
    assert retention.expire_views() == 20
    done = build.rebuild_recommendations()
    assert (done.changed, done.removed) == (0, 0)
    settings.SHOP_VIEW_DAYS = 200
    assert build.rebuild_recommendations().removed == 1


def test_views_too_old_to_keep_are_not_imported(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(synthetic, "invent_view_time", lambda user, book: now - timedelta(days=user))
    files(tmp_path, pairs((20, 1), (400, 7)), pairs((400, 7)))
    added = load(tmp_path, capsys)["added"]
    assert (added["views"], added["purchases"]) == (1, 1)
    assert retention.expire_views() == 0
    assert set(load(tmp_path, capsys)["added"].values()) == {0}


def test_the_command_reports_the_number_of_deleted_views(book: Book, capsys: Capture) -> None:
    user = User.objects.create_user("ken")
    see(book, 50, user)
    see(book, 30)
    call_command("views", "expire")
    assert capsys.readouterr().out == "1 view deleted\n"
    call_command("views", "expire", "--older-than", "49", "--json")
    assert '"views": 1' in capsys.readouterr().out
    call_command("views", "expire", "--older-than", str(10**12))
    assert capsys.readouterr().out == "0 views deleted\n"
    with pytest.raises(SystemExit) as stop:
        call_command("views", "expire", "--older-than", "30")
    assert stop.value.code == 2
    assert capsys.readouterr().err == "--older-than must be at least 31 days\n"


def test_beat_expires_views(book: Book) -> None:
    see(book, 30)
    assert tasks.expire_views() == 1
    assert tasks.expire_views.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
