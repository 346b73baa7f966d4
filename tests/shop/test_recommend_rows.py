"""Rows of recommendations: computed from SQL, written where they changed, and mirrored."""

import io
from datetime import timedelta

import orjson
import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone
from redis import Redis

from accounts.models import User
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild as rebuild_mirrors
from mirror.verify.runs import verify
from shop import keys, tasks
from shop.models import Order, OrderLine, OrderState, Product, Recommendation, View
from shop.recommend import build, history
from tests.support.accounts.people import make_people
from tests.support.shop.make import make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
NOW = timezone.now()


def buy(people: list[User], product: Product, days: float = 0, state: str = OrderState.SENT) -> None:
    """Create an order of one product for each of these users, a number of days after now."""
    at = NOW + timedelta(days=days)
    start = Order.objects.count()
    orders = Order.objects.bulk_create(
        Order(
            user=user, key=f"{start + n}", state=state, total=1, email="a@example.org", name="A", address="B",
            created_at=at, reserved_until=at,
        )
        for n, user in enumerate(people)
    )  # fmt: skip
    OrderLine.objects.bulk_create(
        OrderLine(order=order, product=product, title="", quantity=1, price=1) for order in orders
    )


def look(people: list[User], product: Product, days: float = 0) -> None:
    """Create a view for each of these users, a number of days after now."""
    at = NOW + timedelta(days=days)
    View.objects.bulk_create(View(visitor=f"v{user.pk}", user=user, book_id=product.pk, seen_at=at) for user in people)


def _rows() -> dict[int, tuple[list[int], list[tuple[int, int]]]]:
    """Return by product the ids of also bought products, and those bought after a view with their percentage."""
    return {
        row.pk: ([other for other, *_ in row.bought], [(other, percent) for other, _, percent, _ in row.viewbuy])
        for row in Recommendation.objects.all()
    }


@pytest.fixture
def people() -> list[User]:
    """A hundred users. The last eighty have bought another product."""
    people, other = make_people([0] * 100), make_product("Something else")
    buy(people[20:], other)
    return people


def test_history_becomes_rows_and_rows_become_rankings(people: list[User], redis: Redis) -> None:
    one, two, three = make_product(), make_product(), make_product()
    buy(people[:10], one)
    buy(people[:8], two)
    look(people[:60], three, days=-3)
    rebuild_mirrors(["recommendation"])
    done = build.rebuild_recommendations()
    assert _rows() == {
        one.pk: ([two.pk], []),
        two.pk: ([one.pk], []),
        three.pk: ([], [(Product.objects.get(book__title="Something else").pk, 67), (one.pk, 17), (two.pk, 13)]),
    }
    assert done.as_dict() == {
        "purchases": 98, "products": 4, "bought": 2, "viewbuy": 1, "changed": 3, "removed": 0,
    }  # fmt: skip
    drain_all()
    assert redis.zrange(keys.bought_after_view(three.pk), 0, -1, desc=True)[1:] == [b"%d" % one.pk, b"%d" % two.pk]
    assert verify(["recommendation"], redis=relay_client()) == []


def test_unchanged_rows_are_not_written(people: list[User]) -> None:
    one, two, three = make_product(), make_product(), make_product()
    buy(people[:10], one)
    buy(people[:8], two)
    build.rebuild_recommendations()
    before = dict(Recommendation.objects.values_list("pk", "built_at"))
    Change.objects.all().delete()
    again = build.rebuild_recommendations()
    assert (again.changed, again.removed, Change.objects.count()) == (0, 0, 0)
    look(people[:60], three, days=-1)
    assert build.rebuild_recommendations().changed == 1
    after = dict(Recommendation.objects.values_list("pk", "built_at"))
    assert {pk: after[pk] for pk in before} == before


def test_returned_orders_do_not_count_as_purchases(people: list[User]) -> None:
    one, two = make_product(), make_product()
    for product in (one, two):
        buy(people[:10], product)
    build.rebuild_recommendations()
    assert set(_rows()) == {one.pk, two.pk}
    for state in (OrderState.CANCELLED, OrderState.EXPIRED, OrderState.RESERVED):
        Order.objects.filter(user__in=people[:10], lines__product=two).update(state=state)
        done = build.rebuild_recommendations()
        assert (_rows(), done.removed) == ({}, 2)
        Order.objects.filter(user__in=people[:10], lines__product=two).update(state=OrderState.PAID)
        assert build.rebuild_recommendations().changed == 2


def test_views_and_orders_without_a_user_do_not_count(people: list[User]) -> None:
    one, two = make_product(), make_product()
    buy(people[:20], one)
    View.objects.bulk_create(View(visitor=f"s{n}", book_id=two.pk, seen_at=NOW) for n in range(200))
    look(people[:49], two, days=-1)
    build.rebuild_recommendations()
    assert two.pk not in _rows()
    look(people[49:50], two, days=-1)
    build.rebuild_recommendations()
    assert _rows()[two.pk][1] == [(Product.objects.get(book__title="Something else").pk, 60), (one.pk, 40)]
    Order.objects.filter(lines__product=one).update(user=None)
    build.rebuild_recommendations()
    assert _rows()[two.pk][1] == [(Product.objects.get(book__title="Something else").pk, 60)]


def test_history_is_read_in_slices_and_rows_are_written_in_slices(
    people: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    products = [make_product() for _ in range(5)]
    for n, product in enumerate(products):
        buy(people[: 10 + n], product)
        look(people[n : n + 60], product, days=-2)
    build.rebuild_recommendations()
    expected = _rows()
    Recommendation.objects.all().delete()
    monkeypatch.setattr(history, "ROWS_PER_QUERY", 7)
    monkeypatch.setattr(build, "PRODUCTS_PER_SLICE", 2)
    told: list[int] = []
    assert build.rebuild_recommendations(told.append).changed == 5
    assert (_rows(), told) == (expected, [2, 2, 2])


def test_a_product_deleted_during_the_rebuild_is_skipped(people: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, seen, gone = make_product(), make_product(), make_product(), make_product()
    for product in (one, two):
        buy(people[:10], product)
    for product in (seen, gone):
        look(people[:60], product, days=-1)
    work_out = build._compute_rows

    def deleted_then(*args: object) -> object:
        rows = work_out(*args)  # type: ignore[arg-type]
        Product.objects.filter(pk=gone.pk).delete()
        return rows

    monkeypatch.setattr(build, "_compute_rows", deleted_then)
    build.rebuild_recommendations()
    assert set(_rows()) == {one.pk, two.pk, seen.pk}


def test_the_command_reports_its_result(people: list[User]) -> None:
    one, two = make_product(), make_product()
    for product in (one, two):
        buy(people[:10], product)
    out = io.StringIO()
    call_command("recommend", "rebuild", "--json", stdout=out, stderr=io.StringIO())
    said = orjson.loads(out.getvalue())
    assert (said["purchases"], said["products"], said["bought"], said["changed"]) == (100, 3, 2, 2)
    out = io.StringIO()
    call_command("recommend", "rebuild", stdout=out, stderr=io.StringIO())
    assert out.getvalue().startswith("100 purchases, 3 products in ")
    assert "2 with other purchases" in out.getvalue()


def test_beat_rebuilds_recommendations_daily(people: list[User]) -> None:
    for product in (make_product(), make_product()):
        buy(people[:10], product)
    assert tasks.recommend()["changed"] == 2
    beat = [entry for entry in settings.CELERY_BEAT_SCHEDULE.values() if entry["task"] == tasks.recommend.name]
    assert [entry["schedule"] for entry in beat] == [86_400.0]
