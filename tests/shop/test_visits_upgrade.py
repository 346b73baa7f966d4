"""The migrations to visits lose no view and no last use that the former release had marked in Redis."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from redis import Redis

from accounts import keys as account_keys
from accounts.models import LastSeen, User
from mirror.read import stamps
from mirror.redis import naming
from mirror.redis.clients import relay_client
from shop import keys
from shop.book_views import decay, popularity
from shop.models import View
from tests.support.accounts.digests import make_sessions
from tests.support.catalog.make import make_book
from tests.support.migrations import migrate, upgrade, use_former_release
from tests.support.shop.book_views import consume_views

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
BEFORE: Final = [("shop", "0012_carts_in_sql"), ("accounts", "0019_names_of_any_script")]
AFTER: Final = [("shop", "0015_views_by_entry"), ("accounts", "0020_visits")]
MICROS: Final = 1_795_000_000_123_456
SEEN_AT: Final = datetime(2026, 11, 18, 11, 6, 40, 123456, tzinfo=UTC)


@pytest.fixture
def readers() -> list[User]:
    """Create two users, before the table has its former columns."""
    return [User.objects.create_user("alice"), User.objects.create_user("bob")]


@pytest.fixture
def former(readers: list[User]) -> Iterator[Any]:
    """Return the models of the former release, with their tables."""
    with use_former_release(BEFORE) as apps:
        yield apps


def marks(key: str) -> str:
    """Return the key of the former release's marks."""
    return f"mirror:marks:{naming.slot_of(key)}"


class MarkedViews:
    """Views that the former release had marked in Redis. rows: what SQL should have after the upgrade."""

    def __init__(self, former: Any, readers: list[User], redis: Redis) -> None:
        known, self.new, gone = make_book("Known"), make_book("New"), make_book("Gone")
        alice, bob = readers
        (own,) = make_sessions(1, start=10)
        former.get_model("accounts", "Session").objects.update(user_id=alice.pk)
        flushed = {"visitor": "a" * 64, "seen_at": SEEN_AT, "book_id": known.pk, "user_id": bob.pk}
        former.get_model("shop", "View").objects.create(**flushed)
        items = {
            f"{'a' * 64}|{bob.pk}|{known.pk}|{MICROS}": MICROS,  # SQL had it, and the flush was killed
            f"{'b' * 64}||{self.new.pk}|{MICROS + 1}": MICROS + 1,
            f"{'c' * 64}|{bob.pk}|{self.new.pk}|{MICROS + 2}": MICROS + 2,
            f"{own}||{self.new.pk}|{MICROS + 3}": -MICROS,  # it was quarantined
            f"{'d' * 64}||{gone.pk}|{MICROS}": MICROS,
            "nonsense": -1,
        }
        redis.zadd(marks(keys.popularity()), items)
        redis.hset(f"{marks(keys.popularity())}:aside", "nonsense", "an error")
        redis.set("mirror:restored:view", "a marker")
        former.get_model("catalog", "Book").objects.filter(pk=gone.pk).delete()
        later = [SEEN_AT + timedelta(microseconds=number) for number in range(4)]
        self.rows = {
            ("a" * 64, known.pk, bob.pk, later[0]),
            ("b" * 64, self.new.pk, None, later[1]),
            ("c" * 64, self.new.pk, bob.pk, later[2]),
            (own, self.new.pk, alice.pk, later[3]),
        }


class MarkedLastUses:
    """Last uses of sessions that the former release had marked in Redis. rows: what SQL should have afterwards."""

    def __init__(self, former: Any, redis: Redis) -> None:
        older, newer, new, claimed, self.unmarked = sessions = make_sessions(5)
        rows = former.get_model("accounts", "LastSeen").objects
        rows.create(session_id=older, seen_at=SEEN_AT - timedelta(days=1))
        rows.create(session_id=newer, seen_at=SEEN_AT + timedelta(days=1))
        redis.zadd(account_keys.recent(), dict.fromkeys([*sessions, "ended"], MICROS / 1e6) | {claimed: 0})
        redis.zadd(marks(account_keys.recent()), dict.fromkeys([older, newer, new, claimed, "ended", "lost"], MICROS))
        self.rows = {older: SEEN_AT, newer: SEEN_AT + timedelta(days=1), new: SEEN_AT}


def test_marks_are_written_once_and_a_complete_ranking_stays_valid(
    former: Any, readers: list[User], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    views, uses = MarkedViews(former, readers, redis), MarkedLastUses(former, redis)
    redis.zadd(keys.popularity(), {"1": -2})
    redis.set(keys.popularity_marker(), f"{stamps.make(relay_client())}0123abc")  # with the epoch of the backup
    before = {key: redis.dump(key) for key in redis.scan_iter()}
    with monkeypatch.context() as patch:
        patch.setattr("django.db.migrations.recorder.MigrationRecorder.record_applied", _fail)
        with pytest.raises(ZeroDivisionError):
            migrate(AFTER)
    # A failed migration finds the marks again.
    assert {key: redis.dump(key) for key in redis.scan_iter()} == before
    upgrade(AFTER)
    assert set(View.objects.values_list("visitor", "book", "user", "seen_at")) == views.rows
    assert not list(redis.scan_iter("*marks:*viewed*"))
    assert not redis.exists("mirror:restored:view")
    assert dict(LastSeen.objects.values_list("pk", "seen_at")) == uses.rows
    assert not list(redis.scan_iter("*marks:*recent*"))
    assert redis.zscore(account_keys.recent(), uses.unmarked)
    assert decay.is_complete(relay_client())
    popularity.count_view("e" * 64, views.new.pk)
    assert consume_views() == 1
    assert View.objects.count() == 5


def _fail(*args: object) -> None:
    raise ZeroDivisionError
