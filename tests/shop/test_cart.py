"""Carts: their content, their storage and the cost of reading them."""

from collections.abc import Callable
from functools import partial

import pytest
from django.test import override_settings
from redis import Redis

from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop import keys
from shop.carts.reading import get_cart_backup, read_cart
from shop.models import Cart, Product
from shop.services.carts import CartError, add_copies, set_line, take_out_lines
from tests.support.mirror.backup_world import marked
from tests.support.shop.carts import find_differences, flush_carts, make_visitor, read_quantities, restore_backups
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def warm() -> None:
    """Warm mirrors."""
    rebuild(["product"])
    restore_backups()


@pytest.fixture
def book() -> Product:
    """A product for sale."""
    return make_product()


def test_an_added_line_is_in_redis_at_once_and_in_sql_after_a_flush(book: Product, redis: Redis) -> None:
    digest, other = make_visitor(), make_product()
    now = set_line(digest, book.pk, 2)
    assert set_line(digest, other.pk, 1).version > now.version
    assert redis.hgetall(keys.cart(digest)) == {b"%d" % book.pk: b"2", b"%d" % other.pk: b"1"}
    assert marked(redis, get_cart_backup()) == {digest}
    assert not Cart.objects.exists()
    flush_carts()
    row = Cart.objects.get()
    assert (row.lines, row.version) == ({str(book.pk): 2, str(other.pk): 1}, read_cart(digest).version)
    assert marked(redis, get_cart_backup()) == set()
    assert find_differences() == []


def test_a_cart_is_read_in_one_round_trip_and_written_in_two(book: Product) -> None:
    digest = make_visitor()
    drain_all()
    set_line(digest, book.pk, 1)
    with record() as seen:
        assert read_quantities(digest) == {book.pk: 1}
    assert (seen.round_trips, seen.sql) == (1, [])
    with record() as seen:  # one for the product and its price, one for the cart
        set_line(digest, book.pk, 2)
    assert (seen.round_trips, seen.sql) == (2, [])


def test_a_missing_cart_is_looked_up_in_sql_once() -> None:
    digest = make_visitor()
    assert read_cart(digest).version == 0
    with record() as seen:
        assert read_quantities(digest) == {}
    assert (seen.round_trips, seen.sql) == (1, [])
    with record() as seen:
        assert read_quantities(None) == {}
    assert (seen.round_trips, seen.sql) == (0, [])
    assert find_differences() == []


def test_an_emptied_cart_stays_empty(book: Product, redis: Redis) -> None:
    digest = make_visitor()
    set_line(digest, book.pk, 1)
    flush_carts()
    set_line(digest, book.pk, 0)
    flush_carts()
    redis.flushall()
    assert read_quantities(digest) == {}
    restore_backups()
    assert read_quantities(digest) == {}


def test_newer_lines_in_redis_stay(book: Product, redis: Redis) -> None:
    digest, other = make_visitor(), make_product()
    set_line(digest, book.pk, 3)
    set_line(digest, other.pk, 1)
    flush_carts()
    set_line(digest, book.pk, 1)
    set_line(digest, other.pk, 0)
    get_cart_backup().put_back(redis, get_cart_backup().load([digest]))
    assert read_quantities(digest) == {book.pk: 1}
    flush_carts()
    assert find_differences() == []


def test_adding_sums_up_and_ordered_lines_are_removed_once(book: Product) -> None:
    digest, other = make_visitor(), make_product()
    add_copies(digest, book.pk, 2)
    shown = add_copies(digest, book.pk)
    assert shown.lines == {book.pk: 3}
    add_copies(digest, other.pk)
    assert take_out_lines(digest, shown.version, {book.pk: 3}, key="k1").lines == {other.pk: 1}
    add_copies(digest, book.pk, 2)
    assert take_out_lines(digest, shown.version, {book.pk: 3}, key="k1").lines == {other.pk: 1, book.pk: 2}
    now = read_cart(digest)
    assert take_out_lines(digest, now.version, dict(now.lines), key="k2").lines == {}
    flush_carts()
    assert find_differences() == []


@override_settings(SHOP_CART_LINES=2, SHOP_CART_QUANTITY=5)
@pytest.mark.parametrize("away", [False, True])
def test_invalid_changes_are_refused_and_have_no_effect(book: Product, away: bool) -> None:
    digest, second, third, gone = make_visitor(), make_product(), make_product(), make_product(is_active=False)
    drain_all()
    if away:
        breaker.failed()
    set_line(digest, book.pk, 5)
    set_line(digest, second.pk, 1)
    before = read_cart(digest)
    for wrong in [
        lambda: set_line(digest, book.pk, 6),
        lambda: set_line(digest, book.pk, -1),
        lambda: set_line(digest, third.pk, 1),
        lambda: set_line(digest, gone.pk, 1),
        lambda: set_line(digest, 10**12, 1),
        lambda: add_copies(digest, book.pk, 1),
        lambda: add_copies(digest, book.pk, 0),
        lambda: add_copies(digest, third.pk, 1),
    ]:
        with pytest.raises(CartError) as refused:
            wrong()
        assert str(refused.value).endswith(".")
        if away:
            breaker.failed()
        assert read_cart(digest) == before
    set_line(digest, second.pk, 0)
    assert set_line(digest, third.pk, 1).lines == {book.pk: 5, third.pk: 1}


@pytest.mark.parametrize("away", [False, True])
def test_a_changed_quantity_keeps_the_order_of_lines(away: bool) -> None:
    digest, books = make_visitor(), [make_product() for _ in range(3)]
    first, second, third = (book.pk for book in books)
    drain_all()

    def after(change: Callable[[], object]) -> list[int]:
        if away:
            breaker.failed()
        change()
        return list(read_cart(digest).lines)

    for pk in (third, first, second):
        after(partial(add_copies, digest, pk))
    assert after(partial(set_line, digest, third, 5)) == [third, first, second]
    assert after(partial(add_copies, digest, first)) == [third, first, second]
    assert after(partial(take_out_lines, digest, 0, {third: 1}, key="k")) == [third, first, second]
    after(partial(set_line, digest, third, 0))
    assert after(partial(set_line, digest, third, 1)) == [first, second, third]
    breaker.reset()


def test_the_order_of_lines_survives_the_loss_of_redis(redis: Redis) -> None:
    digest, (first, second) = make_visitor(), (make_product().pk, make_product().pk)
    for pk in (second, first):
        add_copies(digest, pk)
    set_line(digest, second, 3)
    flush_carts()
    redis.flushall()
    rebuild(["product"])
    restore_backups()
    assert list(read_cart(digest).lines) == [second, first]


@pytest.mark.parametrize("is_told", [False, True])
def test_lines_of_the_old_format_keep_their_order(is_told: bool, redis: Redis) -> None:
    digest, (first, second) = make_visitor(), (make_product().pk, make_product().pk)
    for pk in (second, first):
        add_copies(digest, pk)
    state = keys.cart_state(digest)
    for pk in (second, first):
        line = redis.hget(state, str(pk))
        assert isinstance(line, bytes)
        redis.hset(state, str(pk), line.rsplit(b" ", 1)[0])
    flush_carts()
    row = Cart.objects.get()
    row.versions = {name: since[:2] for name, since in row.versions.items()}
    row.save()
    if is_told:
        redis.flushall()
        rebuild(["product"])
        restore_backups()
    assert list(set_line(digest, second, 3).lines) == [second, first]
    flush_carts()
    assert list(read_cart(digest).lines) == [second, first]
    assert find_differences() == []


def test_with_redis_away_a_cart_is_read_from_and_written_to_sql(book: Product, redis: Redis) -> None:
    digest, other = make_visitor(), make_product()
    drain_all()
    set_line(digest, book.pk, 1)
    flush_carts()
    set_line(digest, book.pk, 2)
    breaker.failed()
    assert read_quantities(digest) == {book.pk: 1}
    assert set_line(digest, other.pk, 1).lines == {book.pk: 1, other.pk: 1}
    breaker.reset()
    assert Cart.objects.get().is_owed
