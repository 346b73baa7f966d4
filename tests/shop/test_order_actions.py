"""The page of an order in the admin has its actions, and tells why one is refused."""

import re
from typing import Any, Final

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from shop import emails, personal
from shop.delivery.tracking import Tracking, is_safe_link
from shop.models import EventKind, Order, OrderState, Payment, PaymentState, Product, Refund, RefundLine, RefundState
from shop.payments import TypedCard, fake
from shop.services.payments import pay_order
from shop.services.refunds import refund_order
from shop.services.settle import settle_all
from shop.tasks import tell
from tests.support.accounts.mail import take_hinted_tasks
from tests.support.shop.checkouts import assert_ledger_is_right, check_out, make_cart, make_payments_due
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db(transaction=True)
LIST: Final = "/admin/shop/order/"
NUMBER: Final = "JD01 4600-7"
LINK: Final = "https://www.dhl.com/global-en/home/tracking.html?tracking-id=JD01%204600-7"
SENDS: Final = 'value="send"'


@pytest.fixture
def buyer() -> User:
    return User.objects.create_user("buyer", email="a@example.org")


@pytest.fixture
def paid(buyer: User) -> Order:
    return make_paid(buyer, "paid")


def make_paid(buyer: User | None, key: str, **fields: Any) -> Order:
    values: dict[str, Any] = {"state": OrderState.PAID, "paid_at": timezone.now()} | fields
    order = make_order(buyer, make_product(stock=5), key=key, **values)
    Payment.objects.create(order=order, key=key, amount=order.total, state=PaymentState.SUCCEEDED)
    return order


def take(staff: Client, order: Order, action: str, **typed: str) -> str:
    """Take an action on the page of an order and return the page after it. A refund knows what is left now."""
    if action == "refund":
        payment = order.payments.first()
        typed = {"shown_left": str(payment.left if payment else 0), **typed}
    response = staff.post(f"{LIST}{order.pk}/change/", {"page_action": action, **typed}, follow=True)
    assert response.redirect_chain == [(f"{LIST}{order.pk}/change/", 302)]
    order.refresh_from_db()
    return response.content.decode()


def deliver() -> list[str]:
    """Deliver the emails about orders. Return their texts."""
    before = len(mail.outbox)
    for _name, arguments in take_hinted_tasks(start="shop.tasks.tell"):
        tell(*arguments)
    return [str(letter.body) for letter in mail.outbox[before:]]


def test_an_order_is_sent_with_a_parcel_that_its_buyer_can_track(
    staff: Client, client: Client, buyer: User, paid: Order, settings: Settings
) -> None:
    page = staff.get(f"{LIST}{paid.pk}/change/").content.decode()
    assert SENDS in page
    for carrier, number, why in (
        ("", NUMBER, "Choose the carrier"),
        ("DHL", "1<b>", "letters, digits"),
        ("X", "", "X"),
    ):
        assert why in take(staff, paid, "send", carrier=carrier, number=number)
        assert paid.state == OrderState.PAID
    assert "Marked as sent." in take(staff, paid, "send", carrier="DHL", number=" JD01\u00a0 4600-7 ")
    assert (paid.state, paid.carrier, paid.tracking_number) == (OrderState.SENT, "DHL", NUMBER)
    # A colleague whose page still offers it: the same parcel is no change, and another one is not dropped silently.
    assert "Marked as sent." in take(staff, paid, "send", carrier="DHL", number=NUMBER)
    assert "it was sent already: change the tracking" in take(staff, paid, "send", carrier="UPS", number="1Z")
    assert [(event.kind, event.by, event.why) for event in paid.events.all()] == [
        (EventKind.SENT, User.objects.get(username="carol"), f"DHL {NUMBER}")
    ]
    assert LogEntry.objects.latest("pk").get_change_message() == "Marked as sent."
    (letter,) = deliver()
    assert f"Your parcel: DHL {NUMBER}\n{LINK}\n" in letter
    assert "Tracking changed." in take(staff, paid, "track", carrier="UPS", number="1Z")
    take(staff, paid, "track", carrier="UPS", number="1Z")  # no change, no step
    assert paid.events.filter(kind=EventKind.TRACKED).count() == 1
    assert not deliver()
    shopper = Client()
    shopper.force_login(buyer)
    html = shopper.get(f"/shop/orders/{paid.pk}/").content.decode()
    assert 'href="https://www.ups.com/track?tracknum=1Z"' in html
    parcel = shopper.get(f"/shop/orders/{paid.pk}/", headers={"Accept": "application/json"}).json()["tracking"]
    assert parcel == {"carrier": "UPS", "number": "1Z", "link": "https://www.ups.com/track?tracknum=1Z"}
    # A carrier that the shop has left has no link, and stays on the page of staff.
    settings.SHOP_CARRIERS = {}
    assert "ups.com" not in shopper.get(f"/shop/orders/{paid.pk}/").content.decode()
    page = staff.get(f"{LIST}{paid.pk}/change/").content.decode()
    assert '<option value="UPS" selected>' in page


def test_links_of_carriers_are_encrypted() -> None:
    cases = {
        "https://a.example/{number}": True,
        "https://a.example/?id={number}": True,
        "http://a.example/{number}": False,
        "javascript://a.example/{number}": False,
        "https://{number}.example/": False,
        "https://a.example/": False,
        "/{number}": False,
        "": False,
    }
    assert {link: is_safe_link(link) for link in cases} == cases
    assert [str(Tracking("DHL", "")), Tracking("DHL", "").link] == ["DHL", ""]


def test_a_refusal_names_the_true_reason(staff: Client, paid: Order, settings: Settings) -> None:
    settings.SHOP_ADDRESS_LETTERS = 0
    made: dict[str, Order] = {
        "reserved": make_order(None, make_product(), key="reserved"),
        "paid": paid,
        "sent": make_paid(None, "sent", state=OrderState.SENT),
        "cancelled": make_paid(None, "cancelled", state=OrderState.CANCELLED, cancelled_at=timezone.now()),
        "expired": make_order(None, make_product(), key="expired", state=OrderState.EXPIRED),
    }
    for state, action, why in [
        ("reserved", "send", "it is not paid yet"),
        ("cancelled", "send", "it was cancelled"),
        ("expired", "send", "it was not paid in time"),
        ("paid", "track", "it was not sent"),
        ("sent", "cancel", "it was sent: refund it instead"),
        ("expired", "cancel", "it was not paid in time, and nothing is reserved"),
        ("reserved", "refund", "it is not paid yet"),
        ("paid", "refund", "it was not sent: cancel it instead"),
        ("expired", "refund", "it was not paid in time"),
        ("cancelled", "refund", "it was cancelled, which refunds what was paid"),
        ("reserved", "confirm", "it is not paid"),
        ("cancelled", "confirm", "it was cancelled"),
        ("paid", "confirm", "its address has had too many emails today"),
        ("paid", "nothing", "This is not possible."),
    ]:
        order = made[state]
        page = take(staff, order, action, carrier="DHL", everything="on")
        assert f"Not changed: #{order.pk} ({why})" in page, (state, action)
        assert order.state == state, action
    assert not LogEntry.objects.exists()
    assert not deliver()


def test_actions_follow_the_states_and_the_permissions(staff: Client, buyer: User, paid: Order) -> None:
    clerk = Client()
    dave = User.objects.create_user("dave", is_staff=True)
    dave.user_permissions.set(Permission.objects.filter(codename="view_order"))
    clerk.force_login(dave)
    path = f"{LIST}{paid.pk}/change/"
    assert "page_action" not in clerk.get(path).content.decode()
    assert clerk.post(path, {"page_action": "cancel"}).status_code == 403
    assert staff.post(f"{LIST}4711/change/", {"page_action": "cancel"}).status_code == 302
    for state, expected in (
        (OrderState.RESERVED, ["cancel", "note"]),
        (OrderState.PAID, ["send", "confirm", "cancel", "refund", "note"]),
        (OrderState.SENT, ["track", "confirm", "refund", "note"]),
        (OrderState.CANCELLED, ["note"]),
    ):
        Order.objects.filter(pk=paid.pk).update(state=state)
        shown = re.findall(r'name="page_action" value="(\w+)"', staff.get(path).content.decode())
        assert shown == expected, state
    Order.objects.filter(pk=paid.pk).update(state=OrderState.SENT)
    assert "Refund ordered: €2.50." in take(staff, paid, "refund", amount="2.50", reason="A torn page.")
    assert "That is more than is left to refund: €10.00." in take(staff, paid, "refund", amount="10.01")
    assert "Refund ordered: €10.00." in take(staff, paid, "refund", everything="on")
    assert "its payment is refunded already" in take(staff, paid, "refund", everything="on")
    reasons = Refund.objects.order_by("pk").values_list("amount", "reason", "by__username")
    assert list(reasons) == [(250, "A torn page.", "carol"), (1000, "the shop refunded the order", "carol")]
    assert 'value="refund"' not in staff.get(path).content.decode()
    other = make_paid(buyer, "other")
    assert "Cancelled." in take(staff, other, "cancel")
    assert other.state == OrderState.CANCELLED
    assert LogEntry.objects.count() == 3


def test_a_confirmation_is_sent_again_to_the_corrected_address(staff: Client, paid: Order) -> None:
    Order.objects.filter(pk=paid.pk).update(email="right@example.org", confirmed_at=timezone.now())
    assert "The confirmation is sent again." in take(staff, paid, "confirm")
    (letter,) = deliver()
    assert "We have received your payment" in letter
    assert mail.outbox[-1].to == ["right@example.org"]
    take(staff, paid, "confirm")
    take(staff, paid, "cancel")
    deliver()
    assert ["cancelled" in each.subject for each in mail.outbox] == [False], "cancelled before the worker sent it"
    assert emails.send_email("confirmed", paid.pk) == 0


def test_notes_are_dated_signed_and_end_with_the_account(staff: Client, buyer: User, paid: Order) -> None:
    text = "Rang <b>twice</b>. " + "x" * 900
    assert "Note added." in take(staff, paid, "note", text=text)
    assert "Fill in this field" in take(staff, paid, "note", text=" ")
    (event,) = paid.events.all()
    assert (event.kind, event.by.username, event.note) == (EventKind.NOTE, "carol", text)
    page = staff.get(f"{LIST}{paid.pk}/change/").content.decode()
    assert "Rang &lt;b&gt;twice&lt;/b&gt;." in page
    shopper = Client()
    shopper.force_login(buyer)
    assert "twice" not in shopper.get(f"/shop/orders/{paid.pk}/").content.decode()
    take(staff, paid, "send", carrier="DHL", number=NUMBER)
    assert personal._anonymise_orders(buyer.pk) is False
    paid.refresh_from_db()
    assert (paid.tracking_number, {event.note for event in paid.events.all()}) == ("", {""})


def test_packing_slips_are_in_the_languages_of_the_buyers(staff: Client, paid: Order) -> None:
    chinese = make_paid(None, "chinese", language="zh-hans", name="Li & Co", address="Long Lane")
    waiting = make_order(None, make_product(), key="waiting")
    asked = {"action": "packing_slips", "_selected_action": [str(each.pk) for each in (paid, chinese, waiting)]}
    page = staff.post(LIST, asked).content.decode()
    assert page.count('<section class="slip"') == 2
    assert "Li &amp; Co\nLong Lane" in page
    assert f"<h1>Order {paid.pk}</h1>" in page
    assert f"<h1>Order {chinese.pk}</h1>" not in page
    assert '<section class="slip" lang="zh-hans"' in page
    clerk = Client()
    dave = User.objects.create_user("dave", is_staff=True)
    dave.user_permissions.set(Permission.objects.filter(codename="view_order"))
    clerk.force_login(dave)
    assert '<section class="slip"' not in clerk.post(LIST, asked, follow=True).content.decode()


def test_copies_and_delivery_are_refunded_apart(staff: Client, buyer: User) -> None:
    emma, moss = make_product("Emma", price=1250), make_product("Moss", price=700)
    order = make_order(buyer, emma, moss, quantity=3, key="three", state=OrderState.SENT, paid_at=timezone.now())
    Order.objects.filter(pk=order.pk).update(total=order.total + 490, delivery_price=490, delivery_name="Post")
    Payment.objects.create(order=order, key="three", amount=order.total + 490, state=PaymentState.SUCCEEDED)
    first, second = (f"copies_{pk}" for pk in order.lines.order_by("pk").values_list("pk", flat=True))
    page = staff.get(f"{LIST}{order.pk}/change/").content.decode()
    assert f'name="{first}" min="0" max="3"' in page
    assert "Copies of “Moss” (3 left)" in page
    assert "Delivery (€4.90 left)" in page
    assert "Refund ordered: €17.40." in take(staff, order, "refund", **{first: "1", "with_delivery": "on"})
    assert "with_delivery" not in staff.get(f"{LIST}{order.pk}/change/").content.decode()
    both = take(staff, order, "refund", amount="1.00", **{second: "1"})
    assert "Amount: Choose one only: everything, an amount, or copies and delivery." in both
    assert "Enter a number up to 2." in take(staff, order, "refund", **{first: "3"})
    assert "Refund ordered: €39.00." in take(staff, order, "refund", **{first: "2", second: "2"})
    taken = RefundLine.objects.order_by("pk").values_list("line__title", "quantity", "amount")
    assert list(taken) == [("Emma", 1, 1250), (None, 0, 490), ("Emma", 2, 2500), ("Moss", 2, 1400)]


def test_copies_refunded_before_sending_stay_in_the_shop(staff: Client, buyer: User) -> None:
    emma, moss = make_product("Emma", price=1250, stock=5), make_product("Moss", price=700, stock=5)
    order = check_out(buyer, make_cart("cart", emma, moss, quantity=2))
    pay_order(order, TypedCard(fake.GOOD_CARD))
    first, second = (f"copies_{pk}" for pk in order.lines.order_by("pk").values_list("pk", flat=True))
    page = staff.get(f"{LIST}{order.pk}/change/").content.decode()
    assert "Refunded copies go back into stock and are not sent." in page
    assert "No copy goes back into stock." not in page
    assert "Refund ordered: €12.50." in take(staff, order, "refund", **{first: "1"})
    settle_all()
    assert "Refund ordered: €14.00." in take(staff, order, "refund", **{second: "2"})
    make_payments_due()
    settle_all()
    assert "it was not sent: cancel it instead" in take(staff, order, "refund", **{first: "1"})
    assert list(Product.objects.order_by("pk").values_list("stock", "reserved")) == [(4, 0), (5, 0)]
    assert_ledger_is_right({emma.pk: 5, moss.pk: 5})
    slips = {"action": "packing_slips", "_selected_action": [str(order.pk)]}
    shopper = Client()
    shopper.force_login(buyer)
    for _sent in range(2):
        slip = " ".join(re.sub("<[^>]*>", " ", staff.post(LIST, slips).content.decode()).split())
        assert "1 Emma" in slip
        assert "Moss" not in slip
        assert "1 book in this parcel" in slip
        page = staff.get(f"{LIST}{order.pk}/change/").content.decode()
        cells = re.findall(r'<td class="[^"]*field-(?:copies|in_parcel)[^"]*"[^>]*>(.*?)</td>', page, re.DOTALL)
        words = [re.sub("<[^>]*>", "", cell).strip() for cell in cells]
        assert words == ["2 (of which 1 refunded)", "1", "2 (of which 2 refunded)", "0"]
        text = " ".join(shopper.get(f"/shop/orders/{order.pk}/").content.decode().split())
        assert "2 × €12.50 (of which 1 refunded)<" in text
        take(staff, order, "send", carrier="", number="")
    assert "2 × Emma (of which 1 refunded): €25.00" in emails.make_email("sent", order).body
    # After the order was sent, a refund says nothing about the copies.
    assert "No copy goes back into stock." in staff.get(f"{LIST}{order.pk}/change/").content.decode()
    assert "Refund ordered: €12.50." in take(staff, order, "refund", **{first: "1"})
    assert list(Product.objects.order_by("pk").values_list("stock", flat=True)) == [4, 5]
    assert "1 Emma" in " ".join(re.sub("<[^>]*>", " ", staff.post(LIST, slips).content.decode()).split())
    assert_ledger_is_right({emma.pk: 5, moss.pk: 5})


def test_a_cancellation_returns_only_the_copies_that_refunds_left(staff: Client, buyer: User) -> None:
    book = make_product("Emma", price=1250, stock=5)
    order = check_out(buyer, make_cart("cart", book, quantity=3))
    pay_order(order, TypedCard(fake.GOOD_CARD))
    refund_order(order.pk, quantities={order.lines.get().pk: 1})
    take(staff, order, "cancel")
    assert Product.objects.get().stock == 5
    assert_ledger_is_right({book.pk: 5})
    history = staff.get(f"/admin/shop/product/{book.pk}/stock/").content.decode()
    words = " ".join(re.sub("<[^>]*>", " ", history).split())
    for event in ("sold -3", "refunded and not sent +1", "returned by a cancellation +2"):
        assert event in words, words


def test_a_refund_needs_an_explicit_choice(staff: Client, buyer: User) -> None:
    order = make_paid(buyer, "sent", state=OrderState.SENT)
    bought = order.lines.get()
    line = f"copies_{bought.pk}"
    refund_order(order.pk, amount=250)
    Refund.objects.update(state=RefundState.DONE, done_at=timezone.now())
    Payment.objects.update(refunded=250, refund_due=0)
    page = staff.get(f"{LIST}{order.pk}/change/").content.decode()
    assert "Left to refund: €10.00." in page
    assert "Everything that is left: €10.00" in page
    form = page.split('value="refund"')[0].rpartition("<form")[2]
    assert "checked" not in form
    assert re.findall(r' value="([^"]+)"', form)[1:] == ["1000", "0"], "nothing is chosen: the token, and what is left"
    empty = "Amount: Type an amount, or choose copies, delivery or everything that is left."
    for typed in ({}, {"amount": "", line: ""}, {line: "0"}, {"reason": "A torn page."}):
        assert empty in take(staff, order, "refund", **typed)
    assert f"Copies of “{bought.title}” (1 left): Enter a whole number." in take(staff, order, "refund", **{line: "x"})
    twice = "Amount: Choose one only: everything, an amount, or copies and delivery."
    assert twice in take(staff, order, "refund", everything="on", amount="1")
    assert Refund.objects.count() == 1
    assert "Refund ordered: €10.00." in take(staff, order, "refund", everything="on")
    paid = make_paid(buyer, "paid")
    assert "id_everything" not in staff.get(f"{LIST}{paid.pk}/change/").content.decode(), "it is cancelled instead"


def test_a_refund_that_is_sent_twice_is_made_once(staff: Client, buyer: User) -> None:
    order = make_paid(buyer, "sent", state=OrderState.SENT)
    page = staff.get(f"{LIST}{order.pk}/change/").content.decode()
    (left,) = re.findall(r'name="shown_left" value="(\d+)"', page)
    typed = {"shown_left": left, "amount": "2.50"}
    assert "Refund ordered: €2.50." in take(staff, order, "refund", **typed)
    why = "it was refunded or sent since this page was shown: check what is left"
    assert f"Not changed: #{order.pk} ({why})" in take(staff, order, "refund", **typed)
    # Also from a page that was loaded again after the first refund had arrived.
    make_payments_due()
    settle_all()
    assert why in take(staff, order, "refund", **typed)
    assert "Refund ordered: €2.50." in take(staff, order, "refund", amount="2.50")
    assert Refund.objects.count() == 2


def test_a_refund_of_copies_is_refused_after_they_were_sent(staff: Client, paid: Order) -> None:
    bought = {f"copies_{paid.lines.get().pk}": "1"}
    refund = read_copies_shown(staff, paid)[1]
    assert refund == "1"
    take(staff, paid, "send")
    assert "it was refunded or sent since" in take(staff, paid, "refund", shown_copies=refund, **bought)
    assert not Refund.objects.exists(), "its buyer would keep the copy and the money"
    assert "Refund ordered" in take(staff, paid, "refund", shown_copies=read_copies_shown(staff, paid)[0], **bought)


def test_sending_is_refused_after_a_refund_of_a_copy(staff: Client, buyer: User) -> None:
    order = make_paid(buyer, "two", quantity=2)
    (copies, _copies) = read_copies_shown(staff, order)
    assert copies == "2"
    refund_order(order.pk, quantities={order.lines.get().pk: 1})
    assert "it was refunded or sent since" in take(staff, order, "send", shown_copies=copies)
    assert order.state == OrderState.PAID, "its packing slip may name the refunded copy"
    assert "Marked as sent." in take(staff, order, "send", shown_copies=read_copies_shown(staff, order)[0])


def read_copies_shown(staff: Client, order: Order) -> list[str]:
    page = staff.get(f"{LIST}{order.pk}/change/").content.decode()
    return re.findall(r'name="shown_copies" value="(\d+)"', page)


def test_the_list_names_guests(staff: Client, paid: Order) -> None:
    make_order(None, make_product(), key="named", name="Li & Co", email="li@example.org")
    make_order(None, make_product(), key="unnamed", name="", email="guest@example.org")
    make_order(None, make_product(), key="deleted", name="", email="")
    page = staff.get(LIST).content.decode()
    shown = re.findall(r'<td class="[^"]*field-customer[^"]*"[^>]*>(.*?)</td>', page, re.DOTALL)
    words = [re.sub("<[^>]*>", "", cell).strip() for cell in shown]
    assert words == ["–", "guest@example.org (guest)", "Li &amp; Co (guest)", "buyer"]
