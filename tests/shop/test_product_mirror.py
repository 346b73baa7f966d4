"""The mirrors of products, sales and recommendations."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from redis import Redis

from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild
from mirror.verify.runs import verify
from shop import keys
from shop.mirrors import ProductMirror
from shop.models import Product, Recommendation, Sale
from tests.support.shop.make import make_product, make_sale

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
NAMES = ["product", "sale", "recommendation"]


@pytest.fixture(autouse=True)
def warm() -> None:
    """Warm mirrors of the shop."""
    rebuild(NAMES)


def test_products_take_one_round_trip_and_equal_those_from_sql() -> None:
    one, other = make_product(price=1250, stock=3), make_product(price=700, stock=0)
    make_sale(one, price=900)
    drain_all()
    with record() as seen:
        found = ProductMirror.get_many([one.pk, other.pk, 999])
    assert (seen.round_trips, seen.sql) == (1, [])
    assert (found[one.pk].now.cents, found[one.pk].now.was, found[one.pk].can_be_bought) == (900, 1250, True)
    assert (found[other.pk].now.cents, found[other.pk].now.was, found[other.pk].can_be_bought) == (700, None, False)
    with sql_only():
        assert {pk: p.raw for pk, p in ProductMirror.get_many([one.pk, other.pk, 999]).items()} == {
            pk: p.raw for pk, p in found.items()
        }


def test_past_and_coming_sales_change_no_price() -> None:
    product = make_product(price=1250)
    make_sale(product, price=1, starts_in=-2, hours=-1)
    make_sale(product, price=2, starts_in=1, hours=2)
    make_sale(product, price=2000)
    drain_all()
    assert ProductMirror.get_many([product.pk])[product.pk].now == (1250, None, None, None)


def test_every_change_of_a_product_reaches_redis(redis: Redis) -> None:
    product = make_product(price=1250, stock=3)
    sale = make_sale(product, price=900)
    Product.objects.filter(pk=product.pk).update(reserved=F("reserved") + 1)
    Sale.objects.filter(pk=sale.pk).update(ends_at=sale.starts_at.replace(year=2001), starts_at="2000-01-01T00:00Z")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE shop_product SET price = 1300 WHERE book_id = %s", [product.pk])
    drain_all()
    found = ProductMirror.get_many([product.pk])[product.pk]
    assert (found.now.cents, found["available"]) == (1300, 2)
    assert redis.zscore(keys.products_by_price(), str(product.pk)) == 1300
    Product.objects.filter(pk=product.pk).update(is_active=False)
    drain_all()
    assert redis.zscore(keys.products_by_price(), str(product.pk)) is None
    assert verify(NAMES, redis=relay_client()) == []


def test_recommendations_become_two_rankings(redis: Redis) -> None:
    one, other = make_product(), make_product()
    row = Recommendation.objects.create(product=one, bought=[[other.pk, 2.5, 7]], viewbuy=[[other.pk, 0.25, 30, 60]])
    drain_all()
    assert redis.zrange(keys.also_bought(one.pk), 0, -1, withscores=True) == [(str(other.pk).encode(), 2.5)]
    assert redis.zscore(keys.bought_after_view(one.pk), str(other.pk)) == 0.25
    row.bought = []
    row.save()
    drain_all()
    assert not redis.exists(keys.also_bought(one.pk))
    assert verify(NAMES, redis=relay_client()) == []


def test_sql_refuses_to_reserve_more_than_the_stock() -> None:
    product = make_product(stock=3)
    with pytest.raises(IntegrityError), transaction.atomic():
        Product.objects.filter(pk=product.pk).update(reserved=4)
