"""Letters to buyers: what they say, in which language, and where their links lead."""

import contextlib
from collections.abc import Callable

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from shop import letters
from shop.models import Order, State
from shop.services.orders import cancel, send
from shop.tasks import tell
from tests.support.accounts.mail import hinted
from tests.support.servers import wait_until
from tests.support.shop.make import make_order, make_product

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]
Act = Callable[[int, User], Order]


@pytest.fixture
def order() -> Order:
    """Two books with letters in their titles that HTML would mask."""
    emma, more = make_product("Emma & <Co>", price=1250), make_product("More", price=100)
    return make_order(None, emma, more, quantity=2, paid_at=timezone.now(), site="https://books.example")


@pytest.mark.parametrize(
    ("about", "subject", "says"),
    [
        ("confirmed", "Your order {} at Diptych", "is paid"),
        ("cancelled", "Your order {} is cancelled", "goes back the way it came"),
        ("sent", "Your order {} is on its way", "has been sent"),
    ],
)
def test_a_letter_says_what_was_ordered_and_where_to_look(order: Order, about: str, subject: str, says: str) -> None:
    assert letters.tell(about, order.pk) == 1
    (letter,) = mail.outbox
    assert (letter.subject, letter.to) == (subject.format(order.pk), [order.email])
    for words in (says, "2 × Emma & <Co>: €25.00", "Total: €27.00", f"https://books.example/shop/orders/{order.pk}/"):
        assert words in letter.body
    assert "&amp;" not in letter.body


def test_a_letter_is_in_the_language_of_the_request_that_ordered(order: Order) -> None:
    assert "Total: €" in letters.write("confirmed", order).body
    order.language = "de"  # of which Django itself knows how money is written
    assert "€25,00" in letters.write("confirmed", order).body


def test_of_an_order_that_is_gone_nobody_is_told() -> None:
    assert letters.tell("sent", 4711) == 0
    assert not mail.outbox


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("act", "about"), [(cancel, "is cancelled"), (send, "is on its way")])
def test_who_bought_is_told_once_and_only_if_it_was_committed(act: Act, about: str) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    order = make_order(None, make_product(), state=State.PAID, paid_at=timezone.now())
    with contextlib.suppress(KeyError), transaction.atomic():
        act(order.pk, staff)
        raise KeyError
    assert hinted(start="shop.tasks.tell") == []
    for _ in range(2):
        act(order.pk, staff)
    ((_name, arguments),) = hinted(start="shop.tasks.tell")
    assert tell(*arguments) == 1
    assert [about in letter.subject for letter in mail.outbox] == [True]


@pytest.mark.django_db(transaction=True)
def test_without_a_broker_this_process_tells_it(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr("mirror.send.task", lambda *_args, **_options: False)
    settings.LETTER_DELAY_SECONDS = 0.0
    order = make_order(None, make_product(), state=State.PAID, paid_at=timezone.now())
    send(order.pk)
    wait_until(lambda: len(mail.outbox) == 1, "the letter")
    assert mail.outbox[0].subject == f"Your order {order.pk} is on its way"


def test_without_a_site_there_is_no_link(order: Order) -> None:
    order.site = ""
    assert "/shop/orders/" not in letters.write("sent", order).body


def test_who_has_paid_nothing_is_promised_nothing(order: Order) -> None:
    order.paid_at = None
    assert "goes back" not in letters.write("cancelled", order).body
    assert "Nothing was paid" in letters.write("cancelled", order).body


def test_a_subject_is_one_line(order: Order) -> None:
    assert "\n" not in letters.write("confirmed", order).subject
