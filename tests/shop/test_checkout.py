"""A cart becomes an order once, at no more than the price that was shown, or not at all."""

import time
from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from common import clock
from shop import shortages
from shop.carts import reading
from shop.models import Order, OrderLine, OrderState, Product
from shop.services import carts, checkout, stock
from shop.services.checkout import begin_checkout
from shop.services.errors import CartChanged, CartEmpty, PriceRose, Shortage, SoldOut
from tests.support.shop.checkouts import HOME, assert_ledger_is_right, check_out, make_cart, run_together
from tests.support.shop.make import make_product, make_sale

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def test_a_checkout_reserves_the_copies_and_empties_the_cart(alice: User) -> None:
    one, other = make_product("One", price=1000, stock=5), make_product("Other", price=250, stock=5)
    digest = make_cart("alice", one, other, quantity=2)
    order = check_out(alice, digest)
    assert (order.state, order.total, order.user) == (OrderState.RESERVED, 2500, alice)
    assert (order.name, order.email, order.address) == (HOME.name, HOME.email, HOME.address)
    assert sorted(order.lines.values_list("title", "quantity", "price")) == [("One", 2, 1000), ("Other", 2, 250)]
    assert reading.read_cart(digest).lines == {}
    assert_ledger_is_right({one.pk: 5, other.pk: 5})


def test_a_repeated_checkout_returns_the_same_order(alice: User) -> None:
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    shown = reading.read_cart(digest)
    first = begin_checkout(alice, digest, version=shown.version, total=product.price, address=HOME)
    again = begin_checkout(alice, digest, version=shown.version, total=product.price, address=HOME)
    assert again == first
    assert_ledger_is_right({product.pk: 5})


def test_a_repeated_checkout_returns_the_same_order_after_the_last_copy(alice: User, bob: User) -> None:
    product = make_product(stock=1)
    digest = make_cart("alice", product)
    version = reading.read_cart(digest).version
    first = check_out(alice, digest)
    with pytest.raises(SoldOut):  # Redis remembers the shortage
        check_out(bob, make_cart("bob", product))
    assert begin_checkout(alice, digest, version=version, total=product.price, address=HOME) == first


def test_a_repeated_checkout_returns_its_order_while_redis_is_behind(
    alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = make_product(stock=1)
    digest = make_cart("alice", product)
    shown = reading.read_cart(digest)
    first = check_out(alice, digest)
    monkeypatch.setattr(reading, "read_cart", lambda digest: shown)
    assert check_out(alice, digest) == first
    shortages.remember_stock({product.pk: 0}, time.monotonic())
    assert check_out(alice, digest) == first


def test_a_new_secret_key_does_not_duplicate_an_order(alice: User, settings: Settings) -> None:
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    version = reading.read_cart(digest).version
    first = begin_checkout(alice, digest, version=version, total=product.price, address=HOME)
    settings.SECRET_KEY = "another"
    assert begin_checkout(alice, digest, version=version, total=product.price, address=HOME) == first


def test_the_next_cart_of_a_visitor_makes_another_order(alice: User) -> None:
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    first = check_out(alice, digest)
    make_cart("alice", product)
    assert check_out(alice, digest) != first
    assert_ledger_is_right({product.pk: 5})


def test_a_crash_before_the_commit_leaves_the_cart_and_no_order(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    shown = reading.read_cart(digest)
    with monkeypatch.context() as crash, pytest.raises(ZeroDivisionError):
        crash.setattr(checkout, "record_step", lambda *args, **kwargs: 1 / 0)
        check_out(alice, digest)
    assert reading.read_cart(digest) == shown
    assert not Order.objects.exists()
    assert_ledger_is_right({product.pk: 5})


def test_a_checkout_never_returns_an_order_of_another_user(alice: User, bob: User) -> None:
    """This holds even for an equal cart, which two users never have."""
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    version = reading.read_cart(digest).version
    check_out(alice, digest)
    with pytest.raises(CartEmpty):
        begin_checkout(bob, digest, version=version, total=product.price, address=HOME)


def test_lines_added_during_the_checkout_stay_in_the_cart(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    product, other = make_product(stock=5), make_product("Another", stock=5)
    digest = make_cart("alice", product)
    write = checkout._write_order

    def while_another_tab_adds(*args: object) -> Order:
        order = write(*args)  # type: ignore[arg-type]
        carts.add_copies(digest, product.pk, 2)
        carts.set_line(digest, other.pk, 1)
        return order

    monkeypatch.setattr(checkout, "_write_order", while_another_tab_adds)
    check_out(alice, digest)
    assert reading.read_cart(digest).lines == {product.pk: 2, other.pk: 1}


def test_a_cart_that_changed_since_it_was_shown_is_not_ordered(alice: User) -> None:
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    shown = reading.read_cart(digest).version
    carts.set_line(digest, product.pk, 2)
    with pytest.raises(CartChanged):
        begin_checkout(alice, digest, version=shown, total=99999, address=HOME)
    assert not Order.objects.exists()
    assert_ledger_is_right({product.pk: 5})


def test_an_empty_cart_is_not_ordered(alice: User) -> None:
    with pytest.raises(CartEmpty):
        begin_checkout(alice, make_cart("alice"), version=0, total=0, address=HOME)
    assert not Order.objects.exists()


def test_a_price_rise_since_the_page_was_shown_refuses_the_order(alice: User) -> None:
    product = make_product(price=1000, stock=5)
    digest = make_cart("alice", product, quantity=2)
    Product.objects.update(price=1100)
    with pytest.raises(PriceRose) as refusal:
        check_out(alice, digest, total=2000)
    assert (refusal.value.shown, refusal.value.now) == (2000, 2200)
    assert not Order.objects.exists()
    assert reading.read_cart(digest).lines == {product.pk: 2}
    assert_ledger_is_right({product.pk: 5})


def test_a_price_drop_since_the_page_was_shown_applies(alice: User) -> None:
    product = make_product(price=1000, stock=5)
    digest = make_cart("alice", product)
    make_sale(product, price=700)
    assert check_out(alice, digest, total=1000).total == 700
    assert OrderLine.objects.get().price == 700


def test_an_ended_sale_does_not_lower_the_price(alice: User) -> None:
    product = make_product(price=1000, stock=5)
    digest = make_cart("alice", product)
    make_sale(product, price=700, starts_in=-2, hours=-1)
    with pytest.raises(PriceRose):
        check_out(alice, digest, total=700)


def test_a_shortage_of_one_book_reserves_nothing(alice: User) -> None:
    plenty, few = make_product("Plenty", stock=9), make_product("Few", stock=2)
    digest = make_cart("alice", plenty, few, quantity=3)
    with pytest.raises(SoldOut) as refusal:
        check_out(alice, digest)
    assert refusal.value.shortages == (Shortage(few.pk, 3, 2),)
    assert reading.read_cart(digest).lines == {plenty.pk: 3, few.pk: 3}
    assert_ledger_is_right({plenty.pk: 9, few.pk: 2})


def test_withdrawn_products_count_as_sold_out(alice: User) -> None:
    product = make_product(stock=9)
    digest = make_cart("alice", product)
    Product.objects.update(is_active=False)
    with pytest.raises(SoldOut) as refusal:
        check_out(alice, digest)
    assert refusal.value.shortages == (Shortage(product.pk, 1, 0, is_withdrawn=True),)


def test_copies_that_return_during_the_count_are_sold(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    product = make_product(stock=0)
    digest = make_cart("alice", product)
    left = stock.count_available_copies

    def as_copies_arrive(ids: dict[int, int]) -> dict[int, int]:
        Product.objects.update(stock=1)
        return left(ids)

    monkeypatch.setattr(stock, "count_available_copies", as_copies_arrive)
    assert check_out(alice, digest).state == OrderState.RESERVED


def test_the_last_copy_is_sold_once(alice: User, bob: User) -> None:
    product = make_product(stock=1)
    first, second = make_cart("alice", product), make_cart("bob", product)
    assert check_out(alice, first).user == alice
    with pytest.raises(SoldOut):
        check_out(bob, second)
    assert_ledger_is_right({product.pk: 1})


def test_twelve_simultaneous_checkouts_of_one_cart_make_one_order(alice: User) -> None:
    product = make_product(stock=1)
    digest = make_cart("alice", product)
    version = reading.read_cart(digest).version

    def send(n: int) -> int:
        return begin_checkout(alice, digest, version=version, total=product.price, address=HOME).pk

    assert set(run_together(12, send)) == {Order.objects.get().pk}
    assert_ledger_is_right({product.pk: 1})


def test_carts_with_equal_books_in_opposite_order_do_not_deadlock(alice: User) -> None:
    products = [make_product(f"Book {n}", stock=100) for n in range(4)]
    digests = [make_cart(f"cart {n}", *(products if n % 2 else products[::-1])) for n in range(10)]

    def send(n: int) -> str:
        return check_out(alice, digests[n]).state

    assert run_together(10, send) == [OrderState.RESERVED] * 10
    assert_ledger_is_right(dict.fromkeys((product.pk for product in products), 100))


def test_a_rush_for_three_copies_sells_three(alice: User, redis: Redis) -> None:
    product = make_product(stock=3)
    digests = [make_cart(f"cart {n}", product) for n in range(12)]
    found = run_together(12, lambda n: check_out(alice, digests[n]))
    assert sorted(type(one).__name__ for one in found) == ["Order"] * 3 + ["SoldOut"] * 9
    assert_ledger_is_right({product.pk: 3})


def test_an_order_has_the_end_of_its_reservation(alice: User, settings: Settings) -> None:
    settings.SHOP_RESERVATION_SECONDS = 600
    began, kept = clock.now(), timedelta(seconds=600)
    order = check_out(alice, make_cart("alice", make_product()))
    assert began + kept <= order.reserved_until <= clock.now() + kept
