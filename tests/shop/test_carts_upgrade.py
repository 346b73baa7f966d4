"""The migration that moves carts to SQL loses nothing of a site of the former release."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.migrations.operations import RemoveIndex
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from accounts.models import Session, User
from shop import keys
from shop.carts.rules import CartLine
from shop.models import Cart
from shop.services.checkout import make_order_key
from tests.support.migrations import migrate, upgrade, use_former_release
from tests.support.servers import RedisServer
from tests.support.shop.carts import find_differences, make_visitor, read_quantities
from tests.support.timeouts import hung
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
BEFORE, AFTER = [("shop", "0011_low_stock")], [("shop", "0012_carts_in_sql")]
FIRST, LATER = 1_700_000_000_000_000, 1_700_000_100_000_000  # times of changes, in microseconds


@pytest.fixture
def former() -> Iterator[Any]:
    """Return the model of the former release, with its table."""
    with use_former_release(BEFORE) as apps:
        yield apps.get_model("shop", "Cart")


def _state(redis: Redis, digest: str, lines: dict[str, str], moved: str = "") -> None:
    """Write a cart as the former release did."""
    state = {"version": LATER, "copies": 1, "moved": moved, **lines}
    redis.hset(f"cart:{{{digest}}}:version", mapping=state)  # type: ignore[arg-type]


def test_carts_are_taken_over_after_failed_upgrades_that_changed_nothing(
    former: Any, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis = redis_server.client()
    alice = User.objects.create_user("alice")
    both, only_sql, only_redis, old, parked, gone, ordered = (make_visitor(alice) for _ in range(7))
    now = timezone.now()
    former.objects.create(
        digest=both, user_id=alice.pk, lines={"1": 2, "2": 5}, version=FIRST,
        versions={"1": [FIRST, 100, FIRST], "2": [FIRST, 200, FIRST], "3": [LATER, 300, FIRST], "floor": FIRST},
    )  # fmt: skip
    lines = {"1": f"7 {LATER} 100 {FIRST}", "3": f"1 {FIRST} 300 {FIRST}", "order:x": f"0 {FIRST} 0 0"}
    _state(redis, both, {**lines, "10": f"1 {FIRST} 100 {FIRST}"})  # SQL has forgotten that product 10 was removed
    former.objects.create(digest=only_sql, lines={"4": 1}, version=FIRST)
    _state(redis, only_redis, {"5": f"3 {LATER} 500"})
    former.objects.create(digest=old, lines={"6": 1}, version=FIRST, moved_to=both)
    _state(redis, old, {"6": f"1 {LATER} 600 {FIRST}"}, moved=both)
    former.objects.create(
        digest=parked, user_id=alice.pk, lines={"8": 1}, version=FIRST, is_parked=True, ended_at=now - timedelta(days=9)
    )
    former.objects.create(digest=gone, lines={"9": 1}, version=FIRST, is_parked=True, ended_at=now)
    former.objects.create(digest=ordered, lines={"7": 1}, version=FIRST)
    orders = former._meta.apps.get_model("shop", "Order").objects
    orders.create(key=make_order_key(ordered, FIRST), total=0, created_at=now, reserved_until=now)
    Session.objects.filter(pk__in=[parked, gone]).delete()
    before = {key: redis.dump(key) for key in redis.scan_iter()}
    with hung(redis_server), pytest.raises(RedisError):
        migrate(AFTER)
    with monkeypatch.context() as failing, pytest.raises(ZeroDivisionError):
        failing.setattr(RemoveIndex, "database_forwards", lambda *args: 1 / 0)
        migrate(AFTER)
    assert {key: redis.dump(key) for key in redis.scan_iter()} == before
    upgrade(AFTER)
    rows = Cart.objects.in_bulk()
    assert set(rows) == {both, only_sql, only_redis, parked, ordered}
    assert rows[both].content == {1: CartLine(7, 100, FIRST), 2: CartLine(5, 200, FIRST)}
    assert rows[only_sql].content == {4: CartLine(1, 0, FIRST)}
    assert rows[only_redis].content == {5: CartLine(3, 500, LATER)}
    assert (rows[both].user, rows[both].version, rows[parked].user) == (alice, LATER, alice)
    assert rows[only_redis].user == alice
    assert (rows[ordered].content, rows[ordered].version) == ({}, FIRST), "a crash left the lines of an order"
    assert not [key for key in redis.scan_iter() if key.endswith(b":version")]
    rebuild(["cart"])
    assert find_differences() == []
    assert read_quantities(both) == {1: 7, 2: 5}
    assert redis.hgetall(keys.cart(both)) == {b"1": b"7", b"2": b"5"}
