"""Imports of users and logins need few statements, are captured by triggers, and can be repeated without effect."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from accounts.models import LoginStats, User
from accounts.selectors import find_user_id, read_leaderboard
from accounts.users.bulk import LoginTotals, get_or_create_users, raise_login_totals
from mirror.models import Change
from mirror.redis.recorder import record
from tests.support.accounts.people import assert_redis_equals_sql, warm_users

JANUARY, MARCH = datetime(2011, 1, 1, tzinfo=UTC), datetime(2011, 3, 1, tzinfo=UTC)

pytestmark = pytest.mark.django_db(transaction=True)


def test_existing_users_are_found_and_missing_ones_created() -> None:
    ken = User.objects.create_user("Ken Thompson", password="a quiet bookshop")
    found = get_or_create_users(
        ["ken thompson", "dennis ritchie", "DENNIS RITCHIE", "Joe Armstrong"], user_type="office"
    )
    assert found["ken thompson"] == ken.pk
    assert found["dennis ritchie"] == found["DENNIS RITCHIE"]
    assert User.objects.count() == 3
    dennis = User.objects.get(pk=found["dennis ritchie"])
    assert (dennis.username, dennis.user_type, dennis.has_usable_password()) == ("dennis ritchie", "office", False)
    assert len(set(User.objects.values_list("session_secret", flat=True))) == 3
    assert get_or_create_users(["ken thompson"]) == {"ken thompson": ken.pk}
    assert User.objects.get(pk=ken.pk).check_password("a quiet bookshop")


def test_an_invalid_name_is_refused_and_creates_no_user() -> None:
    with pytest.raises(ValidationError):
        get_or_create_users(["alice", " bob "])
    assert not User.objects.exists()


def test_spellings_of_one_name_give_one_user() -> None:
    assert len(set(get_or_create_users(["alice", "Alice", "\uff41\uff4c\uff49\uff43\uff45"]).values())) == 1


def test_a_repeated_import_changes_nothing() -> None:
    warm_users()
    ids = get_or_create_users(f"reader {n}" for n in range(20))
    logins = {pk: LoginTotals(n + 1, JANUARY) for n, pk in enumerate(ids.values())}
    assert raise_login_totals(logins) == 20
    assert_redis_equals_sql()
    assert [p.login_times for p in read_leaderboard(is_whole=True).most] == list(range(20, 0, -1))
    Change.objects.all().delete()
    assert raise_login_totals(logins) == 0
    assert get_or_create_users(ids) == ids
    assert not Change.objects.exists()


def test_greater_count_and_later_time_are_kept_separately() -> None:
    (pk,) = get_or_create_users(["alice"]).values()
    raise_login_totals({pk: LoginTotals(5, JANUARY)})
    assert raise_login_totals({pk: LoginTotals(2, MARCH)}) == 1
    assert LoginStats.objects.values_list("login_times", "last_login_time").get(pk=pk) == (5, MARCH)
    assert raise_login_totals({pk: LoginTotals(6, JANUARY)}) == 1
    assert LoginStats.objects.values_list("login_times", "last_login_time").get(pk=pk) == (6, MARCH)


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(IntegrityError):
        raise_login_totals({987654: LoginTotals(1, JANUARY)})


def test_an_import_needs_few_statements() -> None:
    get_or_create_users(["alice"])
    with record() as seen:
        ids = get_or_create_users(f"reader {n}" for n in range(1000))
        raise_login_totals({pk: LoginTotals(1, JANUARY) for pk in ids.values()})
    assert len(seen.sql) < 12  # one statement inserts a slice of users


def test_imported_users_are_mirrored() -> None:
    warm_users()
    ids = get_or_create_users(["alice", "bob"])
    raise_login_totals({ids["alice"]: LoginTotals(2, MARCH), ids["bob"]: LoginTotals(1, JANUARY)})
    assert_redis_equals_sql()
    with record() as seen:
        page = read_leaderboard(is_whole=True)
        assert find_user_id("ALICE") == ids["alice"]
    assert seen.sql == []
    assert [(p.name, p.last_login_time) for p in page.last] == [
        ("alice", "2011-03-01T00:00:00+00:00"),
        ("bob", "2011-01-01T00:00:00+00:00"),
    ]
