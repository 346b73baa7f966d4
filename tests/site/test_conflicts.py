"""Other programs that write to the same tables make no request fail, and nothing happens twice."""

import threading
from collections.abc import Callable, Iterator
from datetime import date

import pytest
from django.contrib.auth.hashers import check_password
from django.core import mail
from django.db import OperationalError, connection, connections, transaction
from django.test import Client

from accounts.audit.models import AuditEvent
from accounts.models import LoginStats, Session, User
from catalog.models import Tag, TagAlias, TagVote
from catalog.shelves.models import Shelf, ShelfEntry
from catalog.shelves.services import put_on_shelf
from catalog.tags.votes import give_tag
from shop.models import Order, OrderEvent, OrderState, Product
from shop.services.orders import cancel_order
from social.models import Follow, Post
from social.services.people import follow
from social.services.posts import create_post
from tests.support.locks import count_waits_behind
from tests.support.servers import wait_until
from tests.support.shop.checkouts import assert_ledger_is_right, check_out, make_cart
from tests.support.shop.make import make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("postgres")]
PASSWORD, OTHER_PASSWORD = "a quiet bookshop", "a loud bookshop"
Conflict = Callable[..., None]


@pytest.fixture
def conflict() -> Iterator[Conflict]:
    """Let SQL end the transaction of the first write to a table, as it ends one of two that wait for each other."""
    tables = []

    def prepare(table: str, state: str = "40P01", times: int = 1) -> None:
        tables.append(table)
        with connection.cursor() as cursor:
            # A sequence also counts in transactions that are rolled back.
            cursor.execute("CREATE SEQUENCE conflicts")
            cursor.execute(
                "CREATE FUNCTION end_transaction() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" IF nextval('public.conflicts') <= {times} THEN"
                f"   RAISE EXCEPTION 'conflict' USING ERRCODE = '{state}';"
                " END IF; RETURN NULL; END $$"
            )
            # AFTER, so that the transaction has written already.
            cursor.execute(
                f"CREATE TRIGGER conflict AFTER INSERT OR UPDATE OR DELETE ON {table}"
                " FOR EACH STATEMENT EXECUTE FUNCTION end_transaction()"
            )

    yield prepare
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"DROP TRIGGER conflict ON {table}")
        cursor.execute("DROP FUNCTION IF EXISTS end_transaction; DROP SEQUENCE IF EXISTS conflicts")


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", "alice@example.org", PASSWORD)


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def write_in_opposite_order(first: int, last: int, do_wait: threading.Event) -> None:
    """Another program locks the last product, and then the first one. It waits for a deadlock without end."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL deadlock_timeout = '1h'")  # so SQL ends the transaction of the site
        cursor.execute("UPDATE shop_product SET price = price WHERE book_id = %s", [last])
        do_wait.wait()
        cursor.execute("UPDATE shop_product SET price = price WHERE book_id = %s", [first])


def run_in_thread(function: Callable[..., object], *args: object) -> threading.Thread:
    def run() -> None:
        try:
            function(*args)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_a_checkout_survives_a_deadlock(alice: User) -> None:
    products = [make_product(f"Book {n}", stock=5) for n in range(3)]
    digest, goes_on = make_cart("alice", *products), threading.Event()
    first, middle, last = (product.pk for product in products)
    foreign = run_in_thread(write_in_opposite_order, first, last, goes_on)
    with transaction.atomic():
        # The checkout holds the first product and waits here, until the other program waits for the first one.
        Product.objects.filter(pk=middle).update(price=1)
        checkout = run_in_thread(check_out, alice, digest, 10_000)
        # Only those behind this transaction: under load any session may wait for a moment.
        wait_until(lambda: count_waits_behind() == 1, "the checkout waits")
        goes_on.set()
        wait_until(lambda: count_waits_behind() == 2, "the other program waits")
    checkout.join()
    foreign.join()
    assert Order.objects.get().state == OrderState.RESERVED
    assert_ledger_is_right({product.pk: 5 for product in products})


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_checkout_is_repeated_once(alice: User, conflict: Conflict, state: str) -> None:
    product = make_product(stock=5)
    digest = make_cart("alice", product)
    conflict("shop_product", state)
    order = check_out(alice, digest)
    assert (order.pk, OrderEvent.objects.count()) == (Order.objects.get().pk, 1)
    assert_ledger_is_right({product.pk: 5})


def test_a_second_conflict_is_raised(alice: User, conflict: Conflict) -> None:
    digest = make_cart("alice", make_product(stock=5))
    conflict("shop_product", times=2)
    with pytest.raises(OperationalError):
        check_out(alice, digest)
    assert not Order.objects.exists()


def test_other_errors_are_not_repeated(alice: User, conflict: Conflict) -> None:
    digest = make_cart("alice", make_product(stock=5))
    conflict("shop_product", "55P03")
    with pytest.raises(OperationalError):
        check_out(alice, digest)


def test_an_outer_transaction_is_repeated_as_a_whole(alice: User, bob: User, conflict: Conflict) -> None:
    conflict("social_follow")
    with pytest.raises(OperationalError, match="conflict"), transaction.atomic():
        follow(alice.pk, bob.pk)
    assert follow(alice.pk, bob.pk)


def test_a_cancelled_order_is_written_and_reported_once(alice: User, conflict: Conflict) -> None:
    product = make_product(stock=5)
    order = check_out(alice, make_cart("alice", product))
    conflict("shop_orderevent")
    cancel_order(order.pk, alice)
    assert Order.objects.get().events.filter(kind="cancelled").count() == 1
    assert_ledger_is_right({product.pk: 5})


def test_a_login_counts_once_and_moves_the_cart(alice: User, client: Client, conflict: Conflict) -> None:
    product = make_product(stock=5)
    client.post("/shop/cart/", {"product": product.pk, "quantity": 2})
    client.post("/accounts/login/", {"username": "alice", "password": "wrong"})
    conflict("accounts_loginstats")
    assert client.post("/accounts/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert LoginStats.objects.get(user=alice).login_times == 1
    assert client.get("/shop/cart/", headers={"Accept": "application/json"}).json()["lines"][0]["quantity"] == 2


def test_a_password_is_changed_once_and_the_session_goes_on(alice: User, client: Client, conflict: Conflict) -> None:
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    conflict("accounts_auditevent")
    form = {"old_password": PASSWORD, "new_password1": OTHER_PASSWORD, "new_password2": OTHER_PASSWORD}
    assert client.post("/accounts/password_change/", form).status_code == 302
    alice.refresh_from_db()
    assert check_password(OTHER_PASSWORD, alice.password)
    assert len(mail.outbox) <= 1
    assert Session.objects.filter(user=alice).count() == 1
    assert client.get("/accounts/sessions/").status_code == 200


def test_staff_change_a_row_once(client: Client, conflict: Conflict) -> None:
    client.force_login(User.objects.create_superuser("staff"))
    tag = Tag.objects.create(name="fantasy")
    conflict("accounts_auditevent")
    answer = client.post("/admin/catalog/tagalias/add/", {"name": "magic", "tag": tag.pk}, follow=True)
    assert TagAlias.objects.filter(name="magic", tag=tag).count() == 1
    assert AuditEvent.objects.filter(model="catalog.tagalias").count() == 1
    assert len(list(answer.context["messages"])) == 1


def test_readers_write_once(alice: User, bob: User, conflict: Conflict) -> None:
    book = make_product("Emma").book_id
    conflict("mirror_change", times=1)
    put_on_shelf(alice.pk, book, Shelf.READ, date(2026, 1, 1))
    reset()
    give_tag(alice.pk, book, "quiet")
    reset()
    create_post(alice.pk, "Hello @bob #quiet")
    reset()
    follow(alice.pk, bob.pk)
    found = [model.objects.count() for model in (ShelfEntry, TagVote, Post, Follow)]
    assert found == [1, 1, 1, 1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM conflicts")
        assert cursor.fetchone()[0] > 1


def reset() -> None:
    """Let the next write conflict again."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE conflicts RESTART")
