"""Recommendations on a book's page: content, cost, and products that cannot be bought."""

from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from catalog.models import Book
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from shop.models import Product, Recommendation
from shop.recommend.selectors import MAX_SHOWN, RecommendationStrips, get_recommendation_strips
from tests.support.shop.make import make_product, make_sale
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ["book", "product", "recommendation"]


@pytest.fixture
def shelf() -> list[Product]:
    """A book and fourteen others; its viewers mostly bought the last ones, its buyers the first ones."""
    one, *others = [make_product(f"Book <{n}>", price=1000 + n) for n in range(15)]
    Recommendation.objects.create(
        product=one,
        bought=[[other.pk, 20.0 - n, 20 - n] for n, other in enumerate(others)],
        viewbuy=[[other.pk, 0.01 * n, 5 * n, 60] for n, other in reversed(list(enumerate(others)))],
    )
    rebuild(NAMES)
    drain_all()
    return [one, *others]


def _ids(strips: RecommendationStrips) -> tuple[list[int], list[int]]:
    return [one.book["id"] for one in strips.viewbuy], [one.book["id"] for one in strips.bought]


def test_recommendations_take_two_round_trips_and_equal_those_from_sql(shelf: list[Product]) -> None:
    one, *others = [product.pk for product in shelf]
    with record() as seen:
        strips = get_recommendation_strips(one)
    assert (seen.round_trips, seen.sql) == (2, [])
    assert _ids(strips) == (others[: -MAX_SHOWN - 1 : -1], others[:MAX_SHOWN])
    assert [found.percent for found in strips.viewbuy] == [65, 60, 55, 50, 45, 40, 35, 30]
    assert [found.both for found in strips.bought] == [20, 19, 18, 17, 16, 15, 14, 13]
    with sql_only():
        by_sql = get_recommendation_strips(one)
    assert repr(by_sql) == repr(strips)


def test_a_book_without_recommendations_takes_one_round_trip(shelf: list[Product]) -> None:
    with record() as seen:
        assert get_recommendation_strips(shelf[3].pk) == ([], [])
        assert get_recommendation_strips(987654) == ([], [])
    assert (seen.round_trips, seen.sql) == (2, [])
    with sql_only():
        assert get_recommendation_strips(shelf[3].pk) == ([], [])
        assert get_recommendation_strips(987654) == ([], [])


def test_unavailable_products_are_replaced_by_the_next(shelf: list[Product]) -> None:
    one, *others = shelf
    Product.objects.filter(pk=others[0].pk).update(stock=0)
    Product.objects.filter(pk=others[1].pk).update(reserved=10)
    Product.objects.filter(pk=others[2].pk).update(is_active=False)
    Book.objects.filter(pk=others[3].pk).delete()
    drain_all()
    expected = [other.pk for other in others[4:]][:MAX_SHOWN]
    assert _ids(get_recommendation_strips(one.pk))[1] == expected
    with sql_only():
        assert _ids(get_recommendation_strips(one.pk))[1] == expected
    Product.objects.filter(pk=others[0].pk).update(stock=1)
    drain_all()
    assert _ids(get_recommendation_strips(one.pk))[1] == [others[0].pk, *expected[:-1]]


def _page(client: Client, pk: int, **headers: str) -> Any:
    with record() as seen:
        response = client.get(f"/books/{pk}/", headers=headers or {"Accept": "text/html"})
    assert response.status_code == 200
    assert seen.sql == []
    return response


def test_the_page_of_a_book_shows_two_strips(client: Client, shelf: list[Product]) -> None:
    one, *others = shelf
    make_sale(others[0], price=5)
    Book.objects.filter(pk__in=[other.pk for other in others]).update(rating=4.25)
    rebuild()
    html = _page(client, one.pk).content.decode()
    assert ">Readers who bought this also bought<" in html
    assert ">Readers who viewed this bought<" in html
    assert ">65% bought it<" in html
    assert html.count('<span class="sr-only">Rating:</span> 4.25') == MAX_SHOWN - 2  # where no share is known
    assert html.count('class="card"') == 2 * MAX_SHOWN - 2  # two are in both, and shown once
    assert "€0.05" in html  # the price in the sale
    assert "Book &lt;1&gt;" in html
    assert find_policy_violations(html) == []
    assert 'class="strip"' not in _page(client, others[3].pk).content.decode()
    with translation.override("zh-hans"):
        assert 'class="card"' in _page(client, one.pk, **{"Accept-Language": "zh-hans"}).content.decode()


def test_a_second_strip_of_fewer_than_six_other_books_is_left_out(client: Client, shelf: list[Product]) -> None:
    one, *others = shelf
    Recommendation.objects.update(bought=[[other.pk, 9.0, 9] for other in (*others[:5], *others[-3:])])
    rebuild()
    html = _page(client, one.pk).content.decode()
    assert "Readers who viewed this bought" in html
    assert "also bought" not in html
    Recommendation.objects.update(viewbuy=[])
    rebuild()
    assert _page(client, one.pk).content.decode().count('class="card"') == MAX_SHOWN


def test_the_json_of_a_book_has_recommendations(client: Client, shelf: list[Product]) -> None:
    one, *others = shelf
    rebuild()
    found = _page(client, one.pk, Accept="application/json").json()["recommendations"]
    first = {"id": others[0].pk, "title": "Book <1>", "authors": [], "price": 1001, "both": 20}
    assert found["bought"][0] == first
    assert [book["percent"] for book in found["viewbuy"]] == [65, 60, 55, 50, 45, 40, 35, 30]
    nothing: dict[str, list[Any]] = {"viewbuy": [], "bought": []}
    assert _page(client, others[3].pk, Accept="application/json").json()["recommendations"] == nothing
