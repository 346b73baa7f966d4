"""Carts when tokens rotate, sessions end, users log in and users are deleted."""

import pytest
from django.contrib.messages import get_messages
from django.db import transaction
from django.test import Client, override_settings
from redis import Redis

from accounts.models import Session, User
from accounts.sessions.cleaning import clean_sessions
from accounts.sessions.services import end_by_digest, end_session
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from shop import keys
from shop.carts import storage
from shop.carts.reading import read_cart
from shop.models import Cart, Product
from shop.services.carts import CartError, add_copies, set_line
from shop.tasks import clean_carts
from tests.support.accounts.sessions import PASSWORD, alice, log_in, read_digest, warm_sessions
from tests.support.shop.carts import find_differences, make_visitor, read_quantities
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

__all__ = ["alice", "warm_sessions"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def warm(warm_sessions: None) -> None:
    """Warm mirrors."""
    rebuild(["product", "cart"])


@pytest.fixture
def book() -> Product:
    """A product for sale."""
    return make_product("The Book of Sand")


@pytest.fixture
def other() -> Product:
    """Another product for sale."""
    return make_product("The Aleph")


def browser_with(lines: dict[Product, int]) -> Client:
    """Return an anonymous browser that has added copies to its cart."""
    client = Client()
    session = client.session
    session.create()
    client.cookies["sessionid"] = str(session.session_key)
    for product, quantity in lines.items():
        set_line(read_digest(client), product.pk, quantity)
    return client


def log_in_here(client: Client, user: User) -> list[str]:
    """Log in in this browser. Return the messages that the user sees."""
    answer = client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    assert answer.status_code == 302
    return [str(message) for message in get_messages(answer.wsgi_request)]


def agree() -> None:
    """Check that SQL and Redis are equal."""
    assert find_differences() == []


def test_a_login_keeps_the_cart(alice: User, book: Product, redis: Redis) -> None:
    client = browser_with({book: 2})
    old = read_digest(client)
    assert log_in_here(client, alice) == []
    assert read_digest(client) != old
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    agree()
    assert redis.hgetall(keys.cart(read_digest(client))) == {b"%d" % book.pk: b"2"}
    assert not redis.exists(keys.cart(old), keys.cart_record(old))
    assert Cart.objects.live().get().user == alice


def test_a_login_keeps_the_cart_after_a_loss_of_redis(alice: User, book: Product, redis: Redis) -> None:
    client = browser_with({book: 2})
    log_in_here(client, alice)
    redis.flushall()
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    rebuild(["product", "cart"])
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    agree()


def test_a_login_with_redis_away_keeps_the_cart(alice: User, book: Product) -> None:
    client = browser_with({book: 2})
    breaker.failed()
    log_in_here(client, alice)
    breaker.reset()
    agree()
    assert read_quantities(read_digest(client)) == {book.pk: 2}


def test_a_failed_login_does_not_move_the_cart(alice: User, book: Product) -> None:
    old, new = make_visitor(), make_visitor(alice)
    set_line(old, book.pk, 2)
    with pytest.raises(RuntimeError), transaction.atomic():
        storage.move(old, new, None)
        storage.gather_parked(alice.pk, new)
        raise RuntimeError
    assert (read_quantities(old), read_quantities(new)) == ({book.pk: 2}, {})
    storage.move(old, new, None)
    storage.move(old, new, None)
    assert read_quantities(new) == {book.pk: 2}
    agree()


def test_parked_carts_are_summed_up_and_announced_at_the_next_login(
    alice: User, book: Product, other: Product, redis: Redis
) -> None:
    first = log_in(alice)
    set_line(read_digest(first), book.pk, 2)
    digest = read_digest(first)
    first.post("/accounts/logout/")
    agree()
    assert not redis.exists(keys.cart(digest))
    client = browser_with({book: 1, other: 1})
    assert log_in_here(client, alice) == ["The 2 books from your earlier cart are in your cart again."]
    assert read_quantities(read_digest(client)) == {book.pk: 3, other.pk: 1}
    agree()
    again = log_in(alice)
    assert read_quantities(read_digest(again)) == {}, "each cart is merged once"
    set_line(read_digest(again), other.pk, 1)
    again.post("/accounts/logout/")
    agree()
    assert log_in_here(Client(), alice) == ["The book from your earlier cart is in your cart again."]
    assert read_quantities(read_digest(client)) == {book.pk: 3, other.pk: 1}


def test_each_ended_session_parks_its_cart(alice: User, book: Product, other: Product, redis: Redis) -> None:
    clients = [log_in(alice) for _ in range(3)]
    for client, product in zip(clients, [book, other, book], strict=True):
        set_line(read_digest(client), product.pk, 60)
    for client in clients:
        client.post("/accounts/logout/")
    desk = Client()
    told = log_in_here(desk, alice)
    assert read_quantities(read_digest(desk)) == {book.pk: 99, other.pk: 60}
    assert told == [
        "The 159 books from your earlier cart are in your cart again.",
        "21 more did not fit.",
    ]
    agree()


@override_settings(SHOP_CART_LINES=2)
def test_gathered_lines_respect_the_limit_of_lines(alice: User, book: Product, other: Product) -> None:
    third = make_product("Fictions")
    drain_all()
    desk = log_in(alice)
    set_line(read_digest(desk), other.pk, 3)
    set_line(read_digest(desk), third.pk, 4)
    desk.post("/accounts/logout/")
    client = browser_with({book: 1})
    told = log_in_here(client, alice)
    assert read_quantities(read_digest(client)) == {book.pk: 1, other.pk: 3}
    assert told == [
        "The 3 books from your earlier cart are in your cart again.",
        "4 more did not fit.",
    ]
    agree()


def test_carts_of_other_users_are_not_gathered(alice: User, book: Product) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD)
    client = log_in(alice)
    set_line(read_digest(client), book.pk, 1)
    old = read_digest(client)
    client.post("/accounts/logout/")
    log_in_here(client, bob)
    assert read_quantities(read_digest(client)) == {}
    agree()
    assert read_quantities(old) == {}
    assert Cart.objects.parked().get().user == alice


@pytest.mark.parametrize("how", ["limit", "expired", "ended", "away"])
def test_every_end_of_a_session_parks_its_cart(
    how: str, alice: User, book: Product, other: Product, redis: Redis
) -> None:
    client = log_in(alice)
    digest = read_digest(client)
    set_line(digest, book.pk, 1)
    set_line(digest, other.pk, 2)
    drain_all()
    if how == "limit":
        clean_sessions(0)
    elif how == "expired":
        Session.objects.update(expire_date="2001-01-01T00:00Z")
        clean_sessions(100)
    elif how == "ended":
        end_session(alice, digest)
    else:
        breaker.failed()
        end_session(alice, digest)
        breaker.reset()
    assert not Session.objects.exists()
    agree()
    assert not redis.exists(keys.cart(digest), keys.cart_record(digest))
    parked = Cart.objects.get()
    assert (parked.user, parked.is_parked) == (alice, True)
    assert {pk: line.quantity for pk, line in parked.content.items()} == {book.pk: 1, other.pk: 2}
    desk = log_in(alice)
    assert read_quantities(read_digest(desk)) == {book.pk: 1, other.pk: 2}


def test_writes_under_an_old_token_are_refused(book: Product) -> None:
    old, new = make_visitor(), make_visitor()
    set_line(old, book.pk, 2)
    Session.objects.filter(pk=old).delete()
    storage.move(old, new, None)
    with pytest.raises(CartError):
        add_copies(old, book.pk)
    assert read_quantities(new) == {book.pk: 2}
    agree()


def test_one_of_two_logins_from_one_browser_gets_the_cart(book: Product) -> None:
    old, one, two = make_visitor(), make_visitor(), make_visitor()
    set_line(old, book.pk, 2)
    storage.move(old, one, None)
    storage.move(old, two, None)
    agree()
    assert (read_quantities(one), read_quantities(two)) == ({book.pk: 2}, {})


def test_gathered_lines_keep_their_old_prices(alice: User, book: Product) -> None:
    desk = log_in(alice)
    set_line(read_digest(desk), book.pk, 2)
    desk.post("/accounts/logout/")
    Product.objects.filter(pk=book.pk).update(price=book.price + 300)
    drain_all()
    client = Client()
    log_in_here(client, alice)
    now = read_cart(read_digest(client))
    assert (now.lines, now.prices) == ({book.pk: 2}, {book.pk: book.price})


def test_empty_and_anonymous_carts_end_with_their_sessions(alice: User, book: Product) -> None:
    stranger, empty, full = make_visitor(), make_visitor(alice), make_visitor(alice)
    for digest in (stranger, empty, full):
        set_line(digest, book.pk, 1)
    set_line(empty, book.pk, 0)
    end_by_digest([stranger, empty, full])
    assert [row.pk for row in Cart.objects.all()] == [full]
    agree()


def test_a_cart_without_a_session_is_parked_or_deleted_after_an_hour(alice: User, book: Product) -> None:
    late, of_alice, fresh, live = make_visitor(), make_visitor(alice), make_visitor(), make_visitor()
    for digest in (late, of_alice, fresh, live):
        set_line(digest, book.pk, 1)
    Cart.objects.exclude(pk=fresh).update(version=1)
    Session.objects.exclude(pk=live).delete()
    assert clean_carts() == 2
    assert {row.pk: row.is_parked for row in Cart.objects.all()} == {of_alice: True, fresh: False, live: False}
    agree()


def test_a_parked_cart_does_not_move(alice: User, book: Product) -> None:
    old, new = make_visitor(alice), make_visitor()
    set_line(old, book.pk, 1)
    storage.park([old])
    storage.move(old, new, None)
    assert Cart.objects.get().pk == old
    assert set_line(new, book.pk, 2).lines == {book.pk: 2}
    agree()


@pytest.mark.parametrize("away", [False, True])
def test_deleting_a_user_erases_the_carts_everywhere(away: bool, alice: User, book: Product, redis: Redis) -> None:
    here, parked = make_visitor(alice), make_visitor(alice)
    for digest in (here, parked):
        set_line(digest, book.pk, 1)
    end_session(alice, parked)
    if away:
        breaker.failed()
    alice.delete()
    assert not Cart.objects.exists()
    breaker.reset()
    agree()
    assert not redis.exists(keys.cart(here), keys.cart_record(here))


def test_a_receiver_that_fails_keeps_the_session(alice: User, book: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = make_visitor(alice)
    set_line(digest, book.pk, 1)
    monkeypatch.setattr(storage, "park", lambda digests: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        clean_sessions(0)
    assert Session.objects.filter(pk=digest).exists()
    assert read_quantities(digest) == {book.pk: 1}
