"""Emails to buyers: content, language and links."""

import contextlib
import re
from collections.abc import Callable

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from shop import emails as letters
from shop.models import Order, OrderState, Payment, PaymentState, Refund
from shop.services import stock
from shop.services.confirmations import send_confirmation
from shop.services.orders import cancel_order, mark_order_sent
from shop.tasks import tell
from tests.support.accounts.mail import take_hinted_tasks
from tests.support.servers import wait_until
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db
Act = Callable[[int, User], Order]


@pytest.fixture
def order() -> Order:
    """An order of two books. Their titles have characters that HTML would escape."""
    emma, more = make_product("Emma & <Co>", price=1250), make_product("More", price=100)
    return make_order(make_buyer(), emma, more, quantity=2, paid_at=timezone.now(), site="https://books.example")


def make_buyer() -> User:
    """Make a user with the verified address of ``make_order``."""
    return User.objects.create_user("buyer", email="A@example.org")


@pytest.mark.parametrize(
    ("about", "subject", "says"),
    [
        ("confirmed", "Your Diptych order {}", "We have received your payment"),
        ("cancelled", "Your order {} was cancelled", "Refunds go to the original payment method"),
        ("sent", "Your order {} is on its way", "has been sent"),
        ("refunded", "Refund for your order {}", "Refunds go to the original payment method"),
    ],
)
def test_an_email_lists_the_order_and_links_to_it(order: Order, about: str, subject: str, says: str) -> None:
    letter = letters.make_email(about, order)
    assert (letter.subject, letter.to) == (subject.format(order.pk), [order.email])
    for words in (says, "2 × Emma & <Co>: €25.00", "Total: €27.00", f"https://books.example/shop/orders/{order.pk}/"):
        assert words in letter.body
    assert "&amp;" not in letter.body
    assert re.match(r"Hello [^\n]+,\n\n[A-Z]", str(letter.body)), "a sentence begins after the greeting"
    ((content, kind),) = letter.alternatives
    assert kind == "text/html"
    html = str(content)
    for words in (
        says,
        "Emma &amp; &lt;Co&gt;",
        "€25.00",
        "€27.00",
        f'href="https://books.example/shop/orders/{order.pk}/"',
    ):
        assert words in html
    # Each mail program shows its own light or dark colours.
    assert "color-scheme" in html
    assert not re.search(r"(?<!-)(background|color):", html)


def test_an_email_is_in_the_language_of_the_request_that_ordered(order: Order) -> None:
    assert "Total: €" in letters.make_email("confirmed", order).body
    order.language = "de"  # a language for which Django knows the number format
    assert "€25,00" in letters.make_email("confirmed", order).body


def test_a_deleted_order_causes_no_email() -> None:
    assert letters.send_email("sent", 4711) == 0
    assert not mail.outbox


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("act", "about"), [(cancel_order, "was cancelled"), (mark_order_sent, "is on its way")])
def test_a_buyer_is_told_once_and_only_after_a_commit(act: Act, about: str) -> None:
    staff = User.objects.create_superuser("staff")
    order = make_order(make_buyer(), make_product(), state=OrderState.PAID, paid_at=timezone.now())
    with contextlib.suppress(KeyError), transaction.atomic():
        act(order.pk, staff)
        raise KeyError
    assert take_hinted_tasks(start="shop.tasks.tell") == []
    for _ in range(2):
        act(order.pk, staff)
    ((_name, arguments),) = take_hinted_tasks(start="shop.tasks.tell")
    assert tell(*arguments) == 1
    assert [about in letter.subject for letter in mail.outbox] == [True]


@pytest.mark.django_db(transaction=True)
def test_without_a_broker_the_process_sends_the_email_itself(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr("mirror.relay.send.task", lambda *_args, **_options: False)
    settings.LETTER_DELAY_SECONDS = 0.0
    order = make_order(make_buyer(), make_product(), state=OrderState.PAID, paid_at=timezone.now())
    mark_order_sent(order.pk)
    wait_until(lambda: len(mail.outbox) == 1, "the letter")
    assert mail.outbox[0].subject == f"Your order {order.pk} is on its way"


def test_an_email_without_a_site_has_no_link(order: Order) -> None:
    order.site = ""
    letter = letters.make_email("sent", order)
    assert "/shop/orders/" not in letter.body + str(letter.alternatives[0][0])


@pytest.mark.django_db(transaction=True)
def test_an_unpaid_order_causes_no_email() -> None:
    mallory = User.objects.create_user("mallory")
    order = make_order(mallory, make_product(stock=1))
    stock.reserve_copies(stock.get_order_quantities(order.pk))
    cancel_order(order.pk, mallory)
    assert take_hinted_tasks(start="shop.tasks.tell") == []
    for about in letters.EMAIL_KINDS:
        assert letters.send_email(about, order.pk) == 0
    assert not mail.outbox


def test_an_unverified_address_of_a_reader_gets_only_the_confirmation() -> None:
    mallory = User.objects.create_user("mallory", email="mallory@example.org")
    now = timezone.now()
    # A guest has no other address.
    for user, others in ((None, [1, 1]), (mallory, [0, 0])):
        order = make_order(user, make_product(), paid_at=now, sent_at=now, cancelled_at=now, email="victim@example.org")
        assert letters.send_confirmation(order) == 1
        assert [letters.send_email(about, order.pk) for about in ("cancelled", "sent")] == others
        order.delete()


def test_a_message_about_something_that_did_not_happen_causes_no_email(order: Order) -> None:
    for about in (*letters.EMAIL_KINDS, "forged", "../../accounts/mails/new_device"):
        assert tell(about, order.pk) == 0
    assert not mail.outbox
    Order.objects.update(sent_at=timezone.now())
    assert tell("sent", order.pk) == 1
    payment = Payment.objects.create(order=order, amount=order.total, refund_due=500, state=PaymentState.SUCCEEDED)
    Refund.objects.create(payment=payment, amount=500, reason="a damaged cover")
    assert tell("refunded", order.pk) == 1
    assert "€5.00 (a damaged cover)" in mail.outbox[-1].body


def test_the_email_of_a_cancelled_free_order_mentions_no_refund(order: Order) -> None:
    order.total = 0
    assert "refunded" not in letters.make_email("cancelled", order).body
    assert "You were not charged." in letters.make_email("cancelled", order).body


def test_one_address_gets_a_limited_number_of_emails_a_day(order: Order, settings: Settings) -> None:
    settings.SHOP_ADDRESS_LETTERS = 3
    product, paid_at = make_product(), timezone.now()
    emails = ["A@x.org", "a@x.org"] * 3
    orders = [make_order(None, product, key=f"key-{n}", email=email, paid_at=paid_at) for n, email in enumerate(emails)]
    assert [letters.send_confirmation(each) for each in orders] == [1, 1, 1, 0, 0, 0]
    assert send_confirmation(orders[0].pk) is False
    assert Order.objects.get(pk=orders[0].pk).confirmed_at is None
    Order.objects.filter(pk=order.pk).update(sent_at=paid_at)
    assert letters.send_email("sent", order.pk) == 1


def test_a_refused_email_does_not_count_towards_the_limit(order: Order, settings: Settings) -> None:
    settings.SHOP_ADDRESS_LETTERS = 1
    Order.objects.filter(pk=order.pk).update(sent_at=timezone.now())
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    with pytest.raises(ConnectionRefusedError):
        letters.send_email("sent", order.pk)
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert letters.send_email("sent", order.pk) == 1


def test_a_subject_is_one_line(order: Order) -> None:
    assert "\n" not in letters.make_email("confirmed", order).subject
