"""Letters to buyers: what they say, in which language, and where their links lead."""

import pytest
from django.core import mail
from django.utils import timezone

from shop import letters
from shop.models import Order
from tests.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db


@pytest.fixture
def order() -> Order:
    """Two books with letters in their titles that HTML would mask."""
    emma, more = make_product("Emma & <Co>", price=1250), make_product("More", price=100)
    return make_order(None, emma, more, quantity=2, paid_at=timezone.now(), site="https://books.example")


@pytest.mark.parametrize(
    ("tell", "subject", "says"),
    [
        (letters.confirm, "Your order {} at Diptych", "is paid"),
        (letters.tell_cancelled, "Your order {} is cancelled", "goes back the way it came"),
        (letters.tell_sent, "Your order {} is on its way", "left the house"),
    ],
)
def test_a_letter_says_what_was_ordered_and_where_to_look(order: Order, tell: object, subject: str, says: str) -> None:
    assert callable(tell)
    tell(order)
    (letter,) = mail.outbox
    assert (letter.subject, letter.to) == (subject.format(order.pk), [order.email])
    for words in (says, "2 × Emma & <Co>: €25.00", "Total: €27.00", f"https://books.example/shop/orders/{order.pk}/"):
        assert words in letter.body
    assert "&amp;" not in letter.body


def test_a_letter_is_in_the_language_of_the_request_that_ordered(order: Order) -> None:
    assert "Total: €" in letters.write("confirmed", order).body
    order.language = "de"  # of which Django itself knows how money is written
    assert "€25,00" in letters.write("confirmed", order).body


def test_without_a_site_there_is_no_link(order: Order) -> None:
    order.site = ""
    assert "/shop/orders/" not in letters.write("sent", order).body


def test_who_has_paid_nothing_is_promised_nothing(order: Order) -> None:
    order.paid_at = None
    assert "goes back" not in letters.write("cancelled", order).body
    assert "Nothing was paid" in letters.write("cancelled", order).body


def test_a_subject_is_one_line(order: Order) -> None:
    assert "\n" not in letters.write("confirmed", order).subject
