"""The row cache: rows of products that are written anew every few seconds."""

import orjson
import pytest
from redis import Redis

from mirror.redis import relay_client
from shop import keys, rowcache, rowplan
from shop.models import Product
from shop.rowdaemon import run_once
from tests.shop.make import make_product, make_sale

pytestmark = pytest.mark.django_db


def row(redis: Redis, product: Product) -> dict[str, object] | None:
    raw = redis.get(keys.row(product.pk))
    return raw and orjson.loads(raw)


def test_a_scheduled_row_is_cached_and_lives_for_three_delays(redis: Redis) -> None:
    product = make_product("Programming Erlang", price=1250, stock=7)
    rowcache.schedule(product.pk, 5)
    assert run_once() == 1
    said = row(redis, product)
    assert said is not None
    assert (said["title"], said["price"], said["now"], said["available"], said["delay"]) == (
        "Programming Erlang",
        1250,
        1250,
        7,
        5,
    )
    assert 14_000 < redis.pttl(keys.row(product.pk)) <= 15_000
    assert run_once() == 0  # it is due in five seconds


def test_what_is_on_sale_is_scheduled_by_itself_and_stops_with_the_sale(redis: Redis) -> None:
    now, later, never = make_product(price=1250), make_product(), make_product()
    sale = make_sale(now, price=900)
    make_sale(later, starts_in=1, hours=2)
    assert run_once() == 2
    assert (redis.zscore(keys.delay(), str(now.pk)), redis.zscore(keys.delay(), str(later.pk))) == (3, 60)
    said = row(redis, now)
    assert said is not None
    assert (said["now"], said["was"], said["ends"]) == (900, 1250, sale.ends_at.timestamp())
    assert row(redis, never) is None
    sale.items.all().delete()
    run_once()
    assert redis.zscore(keys.delay(), str(now.pk)) is None
    assert redis.zscore(keys.schedule(), str(now.pk)) is None
    assert row(redis, now) is None
    assert rowplan.plan(relay_client()) == 0
