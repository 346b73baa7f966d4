"""What marks by itself: a login, and a logged-in user's first request of a day."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client

from loginlog import days, hooks, selectors, services
from mirror.recorder import record
from tests.support.loginlog.tools import person

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_login_is_marked_when_it_is_committed(client: Client) -> None:
    user = person("alice")
    with transaction.atomic():
        client.force_login(user)
        assert not selectors.logged_in_on(user, days.today())
    assert selectors.logged_in_on(user, days.today())


def test_a_login_that_is_rolled_back_never_was(client: Client) -> None:
    user = person("alice")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        client.force_login(user)
        raise ZeroDivisionError
    assert not selectors.logged_in_on(user, days.today())


def test_the_first_request_of_a_day_is_marked_and_the_others_cost_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = person("alice")
    client.force_login(user)
    tomorrow = days.today() + timedelta(days=1)
    monkeypatch.setattr(hooks, "today", lambda: tomorrow)
    client.get("/accounts/leaderboard/")
    assert selectors.login_days(user, days.today(), tomorrow) == [days.today(), tomorrow]
    with record() as seen:
        client.get("/accounts/leaderboard/")
    assert not [key for key in seen.keys() if "loginLog_" in key]  # noqa: SIM118  (a method)


def test_who_changes_type_is_marked_as_the_new_one_too() -> None:
    user = person("alice")
    hooks.seen(user)
    user.user_type = "office"
    hooks.seen(user)
    assert selectors.active_count("office", days.today(), days.today()) == 1


def test_strangers_are_not_looked_up(client: Client) -> None:
    with record() as seen:
        client.get("/healthz")
    assert seen.round_trips == 0


def test_a_database_that_fails_fails_nobodys_page_and_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    user = person("alice")
    with monkeypatch.context() as patched:
        from django.db import OperationalError

        def fails(*args: object) -> bool:
            raise OperationalError("gone")

        patched.setattr(services, "mark_as", fails)
        hooks.seen(user)
    assert "not marked" in caplog.text
    hooks.seen(user)
    assert selectors.logged_in_on(user, days.today())


def test_days_that_would_expire_too_early_are_an_error(settings: object, capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.checks import run_checks

    settings.LOGINLOG_EXPIRE_DAYS = 30  # type: ignore[attr-defined]
    assert "loginlog.E001" in {message.id for message in run_checks()}
