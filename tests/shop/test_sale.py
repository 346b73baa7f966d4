"""The sale page."""

import pytest
from django.test import Client

from mirror.rebuild import rebuild
from mirror.recorder import record
from shop.rowdaemon import run_once
from tests.shop.make import make_product, make_sale

pytestmark = pytest.mark.django_db(transaction=True)
SHOP = ["book", "product", "sale"]


def test_the_sale_says_what_is_left_in_one_round_trip_without_sql(client: Client) -> None:
    product = make_product("Programming Erlang", price=1250, stock=7)
    make_sale(product, price=900)
    rebuild(SHOP)
    run_once()
    client.get("/shop/sale/")
    with record() as seen:
        page = client.get("/shop/sale/").content.decode()
    assert (seen.round_trips, seen.sql) == (1, [])
    assert "Programming Erlang" in page
    assert "€9.00" in page
    assert "7 left" in page
