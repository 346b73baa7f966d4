"""Returns by readers and guests: the walk from the order's page to the refund, bounds, races and crashes."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.models import User
from common.refusals import Refused
from shop.models import Order, OrderState, Payment, PaymentStatus, Product, Refund, Return, ReturnState
from shop.payments import TypedCard, fake
from shop.returns.services import WantedReturn, accept_return, ask_for_return, receive_return, refuse_return
from shop.selectors.links import make_links, make_slip_path
from shop.services.errors import NoBooksChosen, NotReturnable, RefusalNeedsAnswer, ReturnStateRefused
from shop.services.orders import mark_order_sent
from shop.services.payments import pay_order
from shop.services.refunds import refund_order
from shop.services.settle import settle_all
from shop.tasks import tell
from tests.shop.test_checkout_crashes import killed_before
from tests.support.killed import Killed
from tests.support.shop.checkouts import (
    assert_ledger_is_right,
    assert_settled,
    check_out,
    make_cart,
    make_payments_due,
    run_together,
)
from tests.support.shop.make import make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org")


@pytest.fixture
def book() -> Product:
    return make_product("Emma", stock=50)


def buy(alice: User, book: Product, name: str = "cart", quantity: int = 3) -> Order:
    """Return an order that was paid and sent."""
    order = pay_order(check_out(alice, make_cart(name, book, quantity=quantity)), TypedCard(fake.GOOD_CARD))
    return mark_order_sent(order.pk)


def want(order: Order, count: int) -> dict[int, WantedReturn]:
    return {order.lines.get().pk: WantedReturn(count)}


def get(staff: Client, path: str) -> str:
    return staff.get(path).content.decode()


def list_buttons(staff: Client, path: str) -> list[str]:
    """Return the actions on a page of the admin."""
    return re.findall(r'name="page_action" value="(\w+)"', get(staff, path))


def settle() -> None:
    make_payments_due()
    settle_all()


@pytest.mark.parametrize("is_guest", [False, True])
def test_a_buyer_returns_books_and_staff_receive_them(
    alice: User, book: Product, client: Client, is_guest: bool
) -> None:
    order = buy(alice, book)
    stranger, staff = Client(), Client()
    stranger.force_login(User.objects.create_user("mallory"))
    staff.force_login(User.objects.create_superuser("root"))
    if is_guest:
        Order.objects.update(user=None)
        order.refresh_from_db()
    else:
        client.force_login(alice)
    links, line = make_links(order), order.lines.get().pk
    assert links.give_back in client.get(links.order).content.decode()
    assert "Emma" in client.get(links.give_back).content.decode()
    page = client.post(links.give_back, {f"quantity-{line}": "0", "note": ""})
    assert page.status_code == 409
    assert "Choose at least one book" in page.content.decode()
    asked = {f"quantity-{line}": "2", f"reason-{line}": "damaged", "note": "A <torn> cover"}
    assert client.post(links.give_back, asked).status_code == 302
    found = Return.objects.get()
    slip = make_slip_path(order, found.pk)
    assert "waiting for our answer" in client.get(links.order).content.decode()
    assert client.get(slip).status_code == 404, "it is not accepted yet"

    def act(action: str) -> str:
        chosen = {"action": action, "_selected_action": [str(found.pk)]}
        return staff.post("/admin/shop/return/", chosen, follow=True).content.decode()

    def press(action: str) -> str:
        return staff.post(page_of_return, {"page_action": action}, follow=True).content.decode()

    page_of_return, of_order = f"/admin/shop/return/{found.pk}/change/", f"/admin/shop/order/{order.pk}/change/"
    assert "A &lt;torn&gt; cover" in staff.get("/admin/shop/return/").content.decode()
    shown = re.sub(r"\s*<[^>]*>\s*", "|", get(staff, page_of_return))
    assert re.search(r"\|Emma\|+2 of \d ordered copies\|+it is damaged\|", shown), "the line in words"
    assert "Fill in this field." in press("refuse")
    assert 'returns to answer</dt><dd><a href="/admin/shop/return/?state__exact=asked">1<' in get(staff, "/admin/")
    assert f'href="/admin/shop/return/{found.pk}/change/">{found.number}<' in get(staff, of_order)
    assert list_buttons(staff, page_of_return) == ["accept", "refuse"]
    if is_guest:
        assert "1 return was changed." in act("accept")
    else:
        assert "Return accepted." in press("accept")
    assert "it is accepted already" in press("accept")
    assert LogEntry.objects.latest("pk").get_change_message() == "Return accepted."
    assert tell("return_accepted", order.pk) == 1
    assert found.number in mail.outbox[-1].subject
    slip_text = client.get(slip).content.decode()
    assert f"Return {found.number}" in slip_text
    assert "2 × <bdi>Emma</bdi> (it is damaged)" in slip_text
    client.cookies["django_language"] = "zh-hans"
    assert all(word in client.get(slip).content.decode() for word in ("寄件人", "收件人"))
    del client.cookies["django_language"]
    for path in (links.order, links.give_back, slip):
        wrong = path.replace("/guest/", "/orders/") if not is_guest else re.sub(r"(guest/\d+/)[^/]*", r"\1x", path)
        assert stranger.get(wrong).status_code == 404, path
    assert list_buttons(staff, page_of_return) == ["receive_and_restock", "receive", "refuse"]
    if is_guest:
        assert "1 return was changed." in act("receive_and_restock")
    else:
        assert "Returned books received." in press("receive_and_restock")
    assert "its books were received already" in act("receive_and_restock")
    assert list_buttons(staff, page_of_return) == []
    assert "A refund is under way." in get(staff, of_order)
    settle()
    found.refresh_from_db()
    assert (found.state, found.is_restocked) == (ReturnState.RECEIVED, True)
    history = re.sub(r"\s*<[^>]*>\s*", " ", get(staff, f"/admin/shop/product/{book.pk}/stock/"))
    assert re.search(r"returned books +\+2 ", history)
    assert found.refund is not None
    assert (found.refund.amount, found.refund.why) == (2500, "returned books")
    assert Payment.objects.get().status == PaymentStatus.PARTLY_REFUNDED
    assert "books received" in client.get(links.order).content.decode()
    # The third copy: staff refuse it on the page of the return, and it can be returned again.
    client.post(links.give_back, {f"quantity-{line}": "1", "note": ""})
    second = Return.objects.latest("pk")
    assert links.give_back not in client.get(links.order).content.decode(), "nothing is left to return"
    path = f"/admin/shop/return/{second.pk}/change/"
    refusal = {"page_action": "refuse", "answer": "It was read"}
    assert "Return refused." in staff.post(path, refusal, follow=True).content.decode()
    assert "it was refused" in staff.post(path, {"page_action": "accept"}, follow=True).content.decode()
    second.refresh_from_db()
    assert (second.state, second.answer) == (ReturnState.REFUSED, "It was read")
    assert links.give_back in client.get(links.order).content.decode()
    assert_ledger_is_right({book.pk: 50})
    assert_settled()


def test_the_order_tells_until_when_its_books_can_be_returned(client: Client, alice: User, book: Product) -> None:
    order = buy(alice, book)
    client.force_login(alice)
    page = get(client, f"/shop/orders/{order.pk}/")
    assert "You can return books until" in page
    assert "The time to return" not in page
    Order.objects.update(sent_at=timezone.now() - timedelta(days=40), arrives_by=None)
    page = get(client, f"/shop/orders/{order.pk}/")
    assert "You can return books until" not in page
    assert "The return period ended on" in page


def test_returns_out_of_bounds_are_refused(alice: User, book: Product) -> None:
    order = buy(alice, book)
    line = order.lines.get().pk
    for wanted, refusal in (
        ({}, NoBooksChosen),
        ({line: WantedReturn(0)}, NoBooksChosen),
        ({line: WantedReturn(4)}, NotReturnable),
        ({line: WantedReturn(-1)}, NotReturnable),
        ({line + 1: WantedReturn(1)}, NotReturnable),
    ):
        with pytest.raises(refusal):
            ask_for_return(order.pk, wanted)
    first = ask_for_return(order.pk, want(order, 2))
    with pytest.raises(NotReturnable):
        ask_for_return(order.pk, want(order, 2))  # one is left
    with pytest.raises(ReturnStateRefused):
        receive_return(first.pk, restock=True)
    with pytest.raises(RefusalNeedsAnswer):
        refuse_return(first.pk)
    Return.objects.update(answer="They were read")
    refuse_return(first.pk)
    second = ask_for_return(order.pk, want(order, 3))
    refund_order(order.pk, quantities={line: 1})  # staff refund a copy that they do not want back
    accept_return(second.pk)
    assert receive_return(second.pk, restock=False).refund == Refund.objects.get(amount=2500)
    with pytest.raises(NotReturnable):
        ask_for_return(order.pk, want(order, 1))
    late = buy(alice, book, "late")
    Order.objects.filter(pk=late.pk).update(sent_at=timezone.now() - timedelta(days=15))
    with pytest.raises(NotReturnable):
        ask_for_return(late.pk, want(late, 1))
    Order.objects.filter(pk=late.pk).update(arrives_by=timezone.localdate() - timedelta(days=14))
    assert ask_for_return(late.pk, want(late, 1)), "the last day counts from the promised arrival"
    Order.objects.filter(pk=late.pk).update(state=OrderState.PAID)
    with pytest.raises(NotReturnable):
        ask_for_return(late.pk, want(late, 1))
    settle()
    Order.objects.filter(pk=late.pk).update(state=OrderState.SENT)
    assert_settled()


def test_a_form_that_is_sent_twice_asks_for_one_return(alice: User, book: Product, client: Client) -> None:
    order = buy(alice, book)
    client.force_login(alice)
    path, line = make_links(order).give_back, order.lines.get().pk
    (left,) = re.findall(r'name="shown_left" value="(\d+)"', get(client, path))
    asked = {"shown_left": left, f"quantity-{line}": "1", "note": ""}
    assert "We have your return" in client.post(path, asked, follow=True).content.decode()
    assert "No return was added." in client.post(path, asked, follow=True).content.decode()
    assert Return.objects.count() == 1
    assert client.post(path, asked | {"shown_left": "2"}).status_code == 302
    assert Return.objects.count() == 2


def test_pages_promise_emails_to_verified_addresses_alone(alice: User, book: Product, client: Client) -> None:
    client.force_login(alice)
    for address, promise, answer, emails in (
        ("Alice@Example.org", "We send updates to alice@example.org", "and answer by email.", 1),
        ("other@example.org", "Only the confirmation goes to alice@example.org", "will be on this page.", 0),
    ):
        order = buy(alice, book, address)
        User.objects.filter(pk=alice.pk).update(email=address)
        links = make_links(order)
        asked = {f"quantity-{order.lines.get().pk}": "1"}
        page = client.post(links.give_back, asked, follow=True).content.decode()
        assert (promise in page, answer in page) == (True, True)
        mail.outbox.clear()
        accept_return(order.returns.get().pk)
        tell("return_accepted", order.pk)
        assert len(mail.outbox) == emails


def test_simultaneous_returns_take_each_copy_once(alice: User, book: Product) -> None:
    order = buy(alice, book)
    made = run_together(6, lambda n: ask_for_return(order.pk, want(order, 2)))
    assert sum(isinstance(each, Return) for each in made) == 1
    assert all(isinstance(each, (Return, Refused)) for each in made), made
    found = accept_return(Return.objects.get().pk)
    results = run_together(6, lambda n: receive_return(found.pk, restock=True))
    assert sum(isinstance(each, Return) for each in results) == 1, results
    settle()
    assert Refund.objects.get().amount == 2500
    assert_ledger_is_right({book.pk: 50})
    assert_settled()


def test_a_crash_before_any_write_of_a_receipt_changes_nothing(alice: User, book: Product) -> None:
    for n in range(1, 30):
        order = buy(alice, book, f"cart {n}", 1)
        found = accept_return(ask_for_return(order.pk, want(order, 1)).pk)
        try:
            with killed_before(n):
                receive_return(found.pk, restock=True)
        except Killed:
            assert_ledger_is_right({book.pk: 50})
            receive_return(found.pk, restock=True)
        else:
            break
    assert n > 5
    settle()
    assert_ledger_is_right({book.pk: 50})
    assert_settled()
