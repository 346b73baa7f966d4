"""Automatic marks at a login and at a logged-in user's first request of a day."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client

from loginlog import days, hooks, selectors, services
from loginlog.models import LoginMonth
from mirror.redis.recorder import record
from tests.support.loginlog.tools import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_login_is_marked_in_its_transaction(client: Client) -> None:
    user = make_user("alice")
    with transaction.atomic():
        client.force_login(user)
        assert LoginMonth.objects.filter(user=user).exists()
    assert selectors.has_logged_in_on(user, days.today())
    with record() as seen:
        hooks.mark_seen(user)
    assert (seen.round_trips, seen.sql) == (0, [])


def test_a_rolled_back_login_is_not_marked(client: Client) -> None:
    user = make_user("alice")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        client.force_login(user)
        raise ZeroDivisionError
    assert not selectors.has_logged_in_on(user, days.today())


def test_only_the_first_request_of_a_day_is_marked(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user("alice")
    client.force_login(user)
    tomorrow = days.today() + timedelta(days=1)
    monkeypatch.setattr(hooks, "today", lambda: tomorrow)
    client.get("/accounts/leaderboard/")
    assert selectors.find_login_days(user, days.today(), tomorrow) == [days.today(), tomorrow]
    with record() as seen:
        client.get("/accounts/leaderboard/")
    assert not [key for key in seen.keys() if "loginLog_" in key]  # noqa: SIM118  (a method)


def test_a_change_of_type_is_marked_again() -> None:
    user = make_user("alice")
    hooks.mark_seen(user)
    user.user_type = "office"
    hooks.mark_seen(user)
    assert selectors.count_active("office", days.today(), days.today()) == 1


def test_visitors_without_a_session_are_not_looked_up(client: Client) -> None:
    with record() as seen:
        client.get("/healthz")
    assert seen.round_trips == 0


def test_a_failing_database_breaks_no_page_and_is_retried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    user = make_user("alice")
    with monkeypatch.context() as patched:
        from django.db import OperationalError

        def fails(*args: object) -> bool:
            raise OperationalError("gone")

        patched.setattr(services, "mark_login_as", fails)
        hooks.mark_seen(user)
    assert "not marked" in caplog.text
    hooks.mark_seen(user)
    assert selectors.has_logged_in_on(user, days.today())


def test_too_early_an_expiry_is_a_check_error(settings: object, capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.checks import run_checks

    settings.LOGINLOG_EXPIRE_DAYS = 30  # type: ignore[attr-defined]
    assert "loginlog.E001" in {message.id for message in run_checks()}
