"""Two requests of one session, and the end of a session during a request: an acknowledged line is never lost."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections, transaction

from accounts.models import Session, User
from accounts.sessions import SessionStore
from accounts.sessions.rows import hash_token
from accounts.sessions.services import end_by_digest
from shop.models import Cart, Product
from shop.services.carts import CartError, add_copies, set_line
from tests.support.locks import has_lock_wait
from tests.support.servers import wait_until
from tests.support.shop.carts import find_differences, read_quantities
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("postgres")]
ENDS = ["ended", "rotated"]


@pytest.fixture
def book() -> Product:
    """A product for sale, in warm mirrors."""
    product = make_product()
    rebuild(["product", "cart", "session"])
    return product


@pytest.fixture
def store() -> SessionStore:
    """A session of a user."""
    store = SessionStore()
    store.create()
    Session.objects.update(user=User.objects.create_user("alice"))
    return store


def run_both(first: Callable[[], object], second: Callable[[], object]) -> list[Any]:
    """Start ``second`` in a thread before ``first`` is committed. Return what ``second`` returned or raised."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(second())
        except Exception as error:
            outcome.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    with transaction.atomic():
        first()
        thread.start()
        wait_until(has_lock_wait, "the second request waits")
    thread.join()
    return outcome


def end(store: SessionStore, how: str) -> Callable[[], object]:
    """Return a function that ends the session or rotates its token."""
    return store.cycle_key if how == "rotated" else lambda: end_by_digest([hash_token(str(store.session_key))])


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("how", ENDS)
def test_a_line_before_the_end_of_its_session_is_kept(
    how: str, is_new: bool, store: SessionStore, book: Product
) -> None:
    digest, other = str(store.digest), make_product()
    if not is_new:
        add_copies(digest, other.pk, 2)
    run_both(lambda: add_copies(digest, book.pk), end(store, how))
    cart = Cart.objects.get()
    quantities = {pk: line.quantity for pk, line in cart.content.items()}
    assert quantities == {book.pk: 1} | ({} if is_new else {other.pk: 2})
    assert (cart.pk, cart.is_parked) == ((digest, True) if how == "ended" else (store.digest, False))
    assert find_differences() == []


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("how", ENDS)
def test_a_line_after_the_end_of_its_session_is_refused(
    how: str, is_new: bool, store: SessionStore, book: Product
) -> None:
    digest, other = str(store.digest), make_product()
    if not is_new:
        add_copies(digest, other.pk, 2)
    (refusal,) = run_both(end(store, how), lambda: add_copies(digest, book.pk))
    assert isinstance(refusal, CartError)
    quantities = [{pk: line.quantity for pk, line in cart.content.items()} for cart in Cart.objects.all()]
    assert quantities == ([] if is_new else [{other.pk: 2}])
    assert find_differences() == []


@pytest.mark.parametrize("is_new", [True, False])
def test_lines_of_two_tabs_are_both_kept(is_new: bool, store: SessionStore, book: Product) -> None:
    digest, other = str(store.digest), make_product()
    if not is_new:
        set_line(digest, book.pk, 1)
    run_both(lambda: add_copies(digest, book.pk, 2), lambda: add_copies(digest, other.pk, 3))
    assert read_quantities(digest) == {book.pk: 2 if is_new else 3, other.pk: 3}
    assert find_differences() == []


def test_copies_of_two_tabs_are_added_up(store: SessionStore, book: Product) -> None:
    digest = str(store.digest)
    run_both(lambda: add_copies(digest, book.pk, 2), lambda: add_copies(digest, book.pk, 3))
    assert read_quantities(digest) == {book.pk: 5}
