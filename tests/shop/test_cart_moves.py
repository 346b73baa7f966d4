"""Carts when tokens rotate, sessions end, users log in and users are deleted."""

from itertools import pairwise

import pytest
from django.contrib.messages import get_messages
from django.db import transaction
from django.db.models import F
from django.test import Client, override_settings
from redis import Redis

from accounts.models import Session, User
from accounts.sessions.cleaning import clean_sessions
from accounts.sessions.services import end_session
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from shop import keys
from shop.carts import moves
from shop.carts.reading import read_cart
from shop.carts.sync import RESUME_AFTER, push_all_pending_carts
from shop.models import Cart, Product
from shop.services.carts import add_copies, set_line, take_out_lines
from tests.support.accounts.sessions import PASSWORD, alice, log_in, read_digest, warm_sessions
from tests.support.shop.carts import find_differences, flush_carts, make_visitor, read_quantities, restore_backups
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

__all__ = ["alice", "warm_sessions"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def warm(warm_sessions: None) -> None:
    """Warm mirrors."""
    rebuild(["product"])
    restore_backups()


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
    """Check that SQL and Redis are equal and no cart is pending for Redis."""
    flush_carts()
    push_all_pending_carts()
    flush_carts()
    assert not Cart.objects.pending_for_redis().exists()
    assert find_differences() == []


@pytest.mark.parametrize("flushed", [False, True])
def test_a_login_keeps_the_cart(flushed: bool, alice: User, book: Product, redis: Redis) -> None:
    client = browser_with({book: 2})
    if flushed:
        flush_carts()
    old = read_digest(client)
    assert log_in_here(client, alice) == []
    assert read_digest(client) != old
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    assert redis.hgetall(keys.cart(read_digest(client))) == {b"%d" % book.pk: b"2"}
    agree()
    assert Cart.objects.live().get().user == alice


def test_a_login_keeps_the_cart_after_a_loss_of_redis(alice: User, book: Product, redis: Redis) -> None:
    client = browser_with({book: 2})
    log_in_here(client, alice)
    redis.flushall()
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    restore_backups()
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    agree()


def test_a_login_with_redis_away_keeps_sqls_cart_and_merges_late_lines(
    alice: User, book: Product, other: Product
) -> None:
    client = browser_with({book: 2})
    flush_carts()
    set_line(read_digest(client), other.pk, 1)
    breaker.failed()
    log_in_here(client, alice)
    breaker.reset()
    agree()
    assert read_quantities(read_digest(client)) == {book.pk: 2, other.pk: 1}


def test_a_failed_login_does_not_move_the_cart(alice: User, book: Product) -> None:
    old, new = make_visitor(), make_visitor(alice)
    set_line(old, book.pk, 2)
    with pytest.raises(RuntimeError), transaction.atomic():
        moves.move_cart_to_new_token(old, new, None)
        moves.gather_parked_carts(alice.pk, new)
        raise RuntimeError
    assert (read_quantities(old), read_quantities(new)) == ({book.pk: 2}, {})
    moves.move_cart_to_new_token(old, new, None)
    moves.move_cart_to_new_token(old, new, None)
    assert read_quantities(new) == {book.pk: 2}
    agree()


def test_one_of_two_logins_from_one_browser_gets_the_cart(book: Product) -> None:
    old, one, two = make_visitor(), make_visitor(), make_visitor()
    set_line(old, book.pk, 2)
    moves.move_cart_to_new_token(old, one, None)
    moves.move_cart_to_new_token(old, two, None)
    assert (read_quantities(one), read_quantities(two)) == ({book.pk: 2}, {})
    agree()


def test_writes_under_the_old_token_reach_the_moved_cart(book: Product, other: Product) -> None:
    old, new = make_visitor(), make_visitor()
    set_line(old, book.pk, 2)
    moves.move_cart_to_new_token(old, new, None)
    assert add_copies(old, other.pk).lines == {book.pk: 2, other.pk: 1}
    assert read_quantities(old) == read_quantities(new) == {book.pk: 2, other.pk: 1}
    breaker.failed()
    assert read_quantities(old) == {book.pk: 2}, "SQL has not been told of the other"
    breaker.failed()
    add_copies(old, book.pk)
    breaker.reset()
    agree()
    assert read_quantities(new) == {book.pk: 3, other.pk: 1}


def test_writes_between_the_read_and_the_commit_follow_the_cart(book: Product, other: Product) -> None:
    old, new = make_visitor(), make_visitor()
    set_line(old, book.pk, 2)
    with transaction.atomic():
        moves.move_cart_to_new_token(old, new, None)
        set_line(old, other.pk, 1)
        set_line(old, book.pk, 5)
    agree()
    assert read_quantities(new) == {book.pk: 5, other.pk: 1}


def test_a_moved_cart_stays_in_redis_for_a_day(book: Product, redis: Redis) -> None:
    old, new = make_visitor(), make_visitor()
    set_line(old, book.pk, 2)
    with transaction.atomic():
        moves.move_cart_to_new_token(old, new, None)
    agree()
    missing, no_expiry, day = -2, -1, 24 * 3600
    assert 0 < redis.ttl(keys.cart_state(old)) <= day
    assert redis.ttl(keys.cart(old)) in (missing, *range(1, day + 1))
    assert redis.ttl(keys.cart(new)) == no_expiry
    assert "a day after it was moved" in str(keys.cart.__doc__)


def test_late_writes_follow_several_moves(alice: User, book: Product, other: Product) -> None:
    digests = [make_visitor(), *(make_visitor(alice) for _ in range(4))]
    set_line(digests[0], book.pk, 1)
    set_line(digests[0], other.pk, 2)
    for old, new in pairwise(digests[:4]):
        breaker.failed()
        moves.move_cart_to_new_token(old, new, alice.pk)
    breaker.failed()
    moves.park_carts([digests[3]])
    Session.objects.filter(pk__in=digests[:4]).delete()
    moves.gather_parked_carts(alice.pk, digests[4])
    breaker.reset()
    agree()
    assert read_quantities(digests[4]) == {book.pk: 1, other.pk: 2}


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
    assert read_quantities(read_digest(client)) == {book.pk: 3, other.pk: 1}


def test_gathered_lines_keep_their_old_prices(alice: User, book: Product) -> None:
    client = browser_with({book: 1})
    shown = read_cart(read_digest(client))
    take_out_lines(read_digest(client), shown.version, {book.pk: 1}, key="k1")
    Product.objects.filter(pk=book.pk).update(price=book.price + 300)
    drain_all()
    desk = log_in(alice)
    set_line(read_digest(desk), book.pk, 2)
    desk.post("/accounts/logout/")
    log_in_here(client, alice)
    now = read_cart(read_digest(client))
    assert (now.lines, now.prices) == ({book.pk: 2}, {book.pk: book.price + 300}), "not what the ordered one did"


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
    flush_carts()
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
    assert not redis.exists(keys.cart(digest), keys.cart_state(digest))
    parked = Cart.objects.get()
    assert (parked.user, parked.is_parked, parked.lines) == (alice, True, {str(book.pk): 1, str(other.pk): 2})
    desk = log_in(alice)
    assert read_quantities(read_digest(desk)) == {book.pk: 1, other.pk: 2}


def test_a_parked_cart_is_in_sql_before_its_session_is_deleted(alice: User, book: Product, redis: Redis) -> None:
    digest = make_visitor(alice)
    set_line(digest, book.pk, 1)
    end_session(alice, digest)
    redis.flushall()
    assert Cart.objects.parked().get().lines == {str(book.pk): 1}


def test_an_extended_session_gets_its_cart_back(alice: User, book: Product) -> None:
    digest = make_visitor(alice)
    set_line(digest, book.pk, 1)
    moves.park_carts([digest])
    flush_carts()
    push_all_pending_carts()
    assert Cart.objects.get().is_parked
    Cart.objects.update(ended_at=F("ended_at") - 2 * RESUME_AFTER)
    push_all_pending_carts()
    assert not Cart.objects.get().is_parked
    assert read_quantities(digest) == {book.pk: 1}
    agree()


def test_unreachable_carts_are_deleted_after_two_days(alice: User, book: Product, redis: Redis) -> None:
    stranger, empty, full, moved, target = make_visitor(), *(make_visitor(alice) for _ in range(4))
    for digest in [stranger, full, empty, moved]:
        set_line(digest, book.pk, 1)
    set_line(empty, book.pk, 0)
    moves.move_cart_to_new_token(moved, target, alice.pk)
    Session.objects.exclude(pk=target).delete()
    moves.park_carts([stranger, empty, full])
    agree()
    assert Cart.objects.count() == 5
    for row in Cart.objects.exclude(ended_at=None):
        row.ended_at = "2001-01-01T00:00Z"
        row.save()
    Cart.objects.filter(pk=full).update(user=alice)
    redis.delete(keys.cart(moved), keys.cart_state(moved))  # which happens by expiry after a day
    push_all_pending_carts()
    assert {row.pk for row in Cart.objects.all()} == {full, target}
    assert find_differences() == []


@pytest.mark.parametrize("away", [False, True])
def test_deleting_a_user_erases_the_carts_everywhere(away: bool, alice: User, book: Product, redis: Redis) -> None:
    here, gone = make_visitor(alice), make_visitor(alice)
    set_line(here, book.pk, 1)
    set_line(gone, book.pk, 1)
    Session.objects.filter(pk=gone).delete()
    flush_carts()
    Cart.objects.filter(pk=gone).update(user=alice, is_parked=True)
    set_line(here, book.pk, 2)
    if away:
        breaker.failed()
    alice.delete()
    assert not Cart.objects.exclude(lines={}).exists()
    breaker.reset()
    assert bool(redis.exists(keys.cart(here), keys.cart_state(here))) is away
    agree()
    assert not redis.exists(keys.cart(here), keys.cart_state(here))
    assert not Cart.objects.exclude(lines={}).exists()


def test_an_order_removes_its_lines_from_a_moved_cart(book: Product, other: Product) -> None:
    old, new = make_visitor(), make_visitor()
    set_line(old, other.pk, 1)
    shown = set_line(old, book.pk, 2)
    take_out_lines(old, shown.version, {book.pk: 1, other.pk: 1}, key="k0")
    set_line(old, book.pk, 2)
    moves.move_cart_to_new_token(old, new, None)
    assert take_out_lines(old, read_cart(old).version - 1, {book.pk: 1}, key="k1").lines == {book.pk: 1}
    for digest in (old, new):
        assert take_out_lines(digest, 0, {book.pk: 1}, key="k1").lines == {book.pk: 1}
        assert take_out_lines(digest, 0, {book.pk: 1}, key="k0").lines == {book.pk: 1}
    agree()
