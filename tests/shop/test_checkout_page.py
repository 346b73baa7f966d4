"""The checkout page and the page that pays an existing order: their content and the results of their forms."""

import copy
import pickle
import re
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from common.web import readers
from mirror.redis.recorder import record
from shop.carts import reading
from shop.forms import PayForm
from shop.models import FakeCharge, Order, OrderState, Payment, PaymentState, Product
from shop.payments import Expiry, TypedCard, fake
from shop.services import carts, checkout
from shop.services.orders import cancel_order
from tests.support.shop.checkouts import CARD_FIELDS, HOME_FIELDS, assert_ledger_is_right, check_out
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
GIVEN = {"name": "Alice", "email": "alice@example.org", **CARD_FIELDS, **HOME_FIELDS}


@pytest.fixture
def desk() -> Client:
    """A browser in which alice is logged in."""
    client = Client()
    client.force_login(User.objects.create_user("alice", email="alice@example.org"))
    return client


@pytest.fixture
def book() -> Product:
    return make_product("Small Gods", price=1250, stock=3)


def digest_in(client: Client) -> str:
    return str(client.session.digest)  # type: ignore[attr-defined]


def hidden(page: Any) -> dict[str, str]:
    """Return the hidden fields of the page's form."""
    found = dict(re.findall(r'type="hidden" name="(version|total)" value="(\d+)"', page.content.decode()))
    assert set(found) == {"version", "total"}
    return found


def send(client: Client, **changed: str) -> Any:
    """Open the checkout page and send its form."""
    return client.post("/shop/checkout/", GIVEN | hidden(client.get("/shop/checkout/")) | changed)


def text_of(response: Any) -> str:
    """Return the text of a page without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_a_valid_card_buys_the_cart(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 2)
    response = send(desk)
    order = Order.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/shop/orders/{order.pk}/")
    assert (order.state, order.total, order.user) == (OrderState.PAID, 2500, User.objects.get())
    assert reading.read_cart(digest_in(desk)).lines == {}
    assert_ledger_is_right({book.pk: 3})


def test_the_page_shows_lines_total_and_the_effects_of_test_cards(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 2)
    page = desk.get("/shop/checkout/")
    assert 'value="4242 4242 4242 4242"' in page.content.decode()
    said = text_of(page)
    for words in (
        "Small Gods",
        "2 × €12.50",
        "Total €25.00",
        "Place order and pay €25.00",
        "4000 0000 0000 0002",
        "Contact",
        "is declined",
    ):
        assert words in said


def test_the_page_is_read_from_redis(desk: Client, book: Product) -> None:
    rebuild(["session", "user", "book", "product", "cart", "notification"])
    carts.set_line(digest_in(desk), book.pk, 1)
    desk.get("/shop/checkout/")
    with record() as found:
        desk.get("/shop/checkout/")
    # The saved addresses, that of the last order, without one the e-mail address, and the methods of delivery.
    names = ("shop_savedaddress", "shop_order", "accounts_user", "shop_deliverymethod")
    assert [name in sql for name, (sql, _) in zip(names, found.sql, strict=True)] == [True] * 4
    assert found.round_trips == 1


def test_visitors_without_a_cart_come_to_the_cart_and_after_a_lost_login_to_the_login(client: Client) -> None:
    assert client.get("/shop/checkout/")["Location"] == "/shop/cart/"
    # A guest has no login to return to.
    assert client.post("/shop/checkout/", GIVEN)["Location"] == "/shop/guest/"
    assert "Your session has ended" in text_of(client.get("/shop/guest/"))
    client.cookies[readers.COOKIE] = readers.make_mark(1)  # a reader was logged in
    assert client.post("/shop/checkout/", GIVEN)["Location"].startswith("/accounts/login/?next=/accounts/resume/")


def test_an_empty_cart_redirects_to_the_cart(desk: Client) -> None:
    assert desk.get("/shop/checkout/")["Location"] == "/shop/cart/"
    response = desk.post("/shop/checkout/", GIVEN | {"version": "5", "total": "5"})
    assert response["Location"] == "/shop/cart/"
    response = desk.post("/shop/checkout/", {"card": "4242", "version": "5", "total": "5"})
    assert response["Location"] == "/shop/cart/", "also if the form is not valid"


REFUSED_TEXTS = [
    "see https://evil.example/x",
    "evil.com",
    "www.evil.photography",
    "Win at evil.shop now",
    "mallory@evil.com",
    "203.0.113.9/win",
    "x\x1b[2J",
    "x\u2028y",
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439.\u0440\u0444",
]


@pytest.mark.parametrize("field", ["name", "street"])
def test_links_and_control_characters_are_refused_at_their_field(desk: Client, book: Product, field: str) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    for typed in REFUSED_TEXTS:
        page = send(desk, **{field: typed})
        assert list(page.context["form"].errors) == [field]
        assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("Dr. J. R. R. O'Hara-Smith Jr.", "c/o Miller\nSt.Gallen 3. OG, No. 1"),
        ("J.R.R. Tolkien", "10.5 km, P.O. Box 12"),
        ("\u674e\u5c0f\u9f99", "\u5317\u4eac\u5e02\u671d\u9633\u533a1\u53f7"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u062a\u0647\u0631\u0627\u0646"),
    ],
)
def test_usual_names_and_addresses_are_accepted(desk: Client, book: Product, name: str, address: str) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    assert send(desk, name=name, street=address).status_code == 302
    assert Order.objects.get().name == name


FIELDS = ["name", "email", "country", "street", "city", "postcode", *CARD_FIELDS]


def test_missing_fields_are_reported_at_the_field(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    for field in FIELDS:
        page = send(desk, **{field: " "})
        assert page.status_code == 200
        assert f'id="id_{field}-errors"' in page.content.decode()
        assert not Order.objects.exists()


INVALID_CARDS = ["4242 4242 4242 4241", "4242", "abcd efgh ijkl mnop", "４２４２４２４２４２４２４２４１"]


def test_invalid_card_numbers_are_reported_at_the_field(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    for typed in INVALID_CARDS:
        page = send(desk, card=typed)
        assert "Check the card number" in text_of(page)
        assert not Order.objects.exists()


def test_expiry_and_code_are_read_in_any_form_and_checked(settings: Settings) -> None:
    settings.CLOCK = lambda: datetime(2026, 11, 30, 12, tzinfo=UTC)
    accepted = {
        "11/26": (11, 2026), " 1 / 27": (1, 2027), "0828": (8, 2028), "08-2028": (8, 2028), "2028-08": (8, 2028),
        "082028": (8, 2028), "８／２８": (8, 2028), "08.46": (8, 2046),
    }  # fmt: skip
    for typed, expiry in accepted.items():
        form = PayForm(CARD_FIELDS | {"card": " 4242 4242-4242 4242", "expiry": typed, "code": "12 34"})
        assert form.is_valid(), typed
        card = form.cleaned_data["card"]
        assert (card.number, card.expiry, card.code) == (fake.GOOD_CARD, expiry, "1234")
        assert set(form.cleaned_data) == {"card"}
    for field, wrong, why in (
        ("expiry", ["10/26", "12/2025", "2026-10"], "has expired"),
        ("expiry", ["13/28", "0/28", "828", "8", "08/028", "08/47", "x", "08/28/1"], "as on the card"),
        ("code", ["12", "12345", "abc"], "has 3 digits"),
    ):
        for typed in wrong:
            form = PayForm(CARD_FIELDS | {field: typed})
            assert not form.is_valid(), typed
            assert why in str(form.errors[field]), typed
            assert list(form.errors) == [field]


def test_a_typed_card_cannot_be_stored_or_shown() -> None:
    card = TypedCard(fake.GOOD_CARD, Expiry(12, 2040), "987")
    assert repr(card) == str(card) == f"{card}" == "TypedCard(...)"
    for store in (pickle.dumps, copy.copy, orjson.dumps):
        with pytest.raises(TypeError):
            store(card)


def test_an_invalid_form_keeps_all_input_except_the_card(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    page = send(desk, email="nobody", card=fake.TWO_CALLBACKS_CARD).content.decode()
    assert 'value="nobody"' in page
    assert "1 Long Lane" in page
    assert f'value="{fake.TWO_CALLBACKS_CARD}"' not in page.replace(f'<option value="{fake.TWO_CALLBACKS_CARD}">', "")


def test_a_changed_cart_is_shown_again_and_can_then_be_ordered(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    before = hidden(desk.get("/shop/checkout/"))
    carts.set_line(digest_in(desk), book.pk, 2)
    page = desk.post("/shop/checkout/", GIVEN | before)
    assert page.status_code == 409
    assert "Your cart has changed. Check it" in text_of(page)
    assert not Order.objects.exists()
    assert desk.post("/shop/checkout/", GIVEN | hidden(page)).status_code == 302
    assert Order.objects.get().total == 2500


def test_a_form_without_a_cart_version_shows_the_cart(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    for wrong in ({}, {"version": "x", "total": "y"}, {"version": "-1", "total": "1"}, {"version": "9" * 40}):
        assert desk.post("/shop/checkout/", GIVEN | wrong).status_code in (200, 409)
    assert not Order.objects.exists()


def test_a_price_rise_is_reported_and_not_charged(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    before = hidden(desk.get("/shop/checkout/"))
    Product.objects.update(price=1300)
    page = desk.post("/shop/checkout/", GIVEN | before)
    assert page.status_code == 409
    assert "A price has gone up. Check your order" in text_of(page)
    assert hidden(page)["total"] == "1300"
    assert not FakeCharge.objects.exists()


def test_a_shortage_shows_the_copies_left(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 3)
    before = hidden(desk.get("/shop/checkout/"))
    Product.objects.update(stock=2)
    page = desk.post("/shop/checkout/", GIVEN | before)
    assert page.status_code == 409
    for words in ("not enough copies left", "Only 2 left", "Your order was not placed"):
        assert words in text_of(page)
    assert not FakeCharge.objects.exists()


def test_a_withdrawn_book_is_called_withdrawn(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    before = hidden(desk.get("/shop/checkout/"))
    Product.objects.update(is_active=False)
    for _ in range(2):  # the second refusal does not come from the cache of shortages
        page = desk.post("/shop/checkout/", GIVEN | before)
        assert page.status_code == 409
        for words in ("A book in your cart is no longer sold", "No longer available", "Your order was not placed"):
            assert words in text_of(page)
        assert "not enough copies left" not in text_of(page)
        assert "Sold out" not in text_of(page)
        # With nothing that can be bought there are no sums and no delivery.
        for words in ("€0.00", "VAT", 'class="sums"', 'class="delivery"'):
            assert words not in page.content.decode(), words
    # Beside a withdrawn book, another one has too few copies.
    Product.objects.update(is_active=True)
    other = make_product("Other", stock=5)
    carts.set_line(digest_in(desk), other.pk, 2)
    before = hidden(desk.get("/shop/checkout/"))
    Product.objects.filter(pk=book.pk).update(is_active=False)
    Product.objects.filter(pk=other.pk).update(stock=1)
    words = text_of(desk.post("/shop/checkout/", GIVEN | before))
    assert "no longer sold, and another one is short in stock" in words
    assert "No longer available" in words
    assert "Only 1 left" in words
    assert not FakeCharge.objects.exists()


def test_a_book_without_copies_costs_nothing_and_hides_the_order_button(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 2)
    carts.set_line(digest_in(desk), make_product("Other", price=900, stock=5).pk, 1)
    assert "Place order and pay €34.00" in text_of(desk.get("/shop/checkout/"))
    for changed in ({"is_active": False}, {"is_active": True, "stock": 0}):
        Product.objects.filter(pk=book.pk).update(**changed)
        rebuild()
        page = desk.get("/shop/checkout/")
        assert "Some books are not available as shown" in text_of(page)
        assert hidden(page)["total"] == "900"
        assert "Place order" not in text_of(page)


def test_the_form_starts_with_the_address_of_the_last_order(desk: Client, book: Product) -> None:
    for count in (1, 2):
        carts.set_line(digest_in(desk), book.pk, count)
        page = desk.get("/shop/checkout/").content.decode()
        assert ("9 Far Street" in page) == (count == 2)
        send(desk, street="9 Far Street")


def test_a_refused_card_leads_to_another_attempt(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    response = send(desk, card=fake.REFUSED_CARD)
    order = Order.objects.get()
    assert response["Location"] == f"/shop/orders/{order.pk}/pay/"
    page = desk.get(response["Location"])
    assert "Your card was declined. You were not charged." in text_of(page)
    assert "hold these books for you" in text_of(page)
    assert desk.post(response["Location"], {"card": ""}).status_code == 200
    assert desk.post(response["Location"], CARD_FIELDS)["Location"] == f"/shop/orders/{order.pk}/"
    assert Order.objects.get().state == OrderState.PAID
    assert list(Payment.objects.order_by("pk").values_list("state", flat=True)) == [
        PaymentState.FAILED,
        PaymentState.SUCCEEDED,
    ]
    assert_ledger_is_right({book.pk: 3})


def test_a_hanging_provider_does_not_block_the_page(desk: Client, book: Product, settings: Settings) -> None:
    settings.PAYMENT_TIMEOUT_SECONDS = 0.2
    carts.set_line(digest_in(desk), book.pk, 1)
    response = send(desk, card=fake.HANGING_CARD)
    page = desk.get(response["Location"])
    assert "We are still waiting for the payment provider" in text_of(page)
    assert Order.objects.get().state == OrderState.RESERVED


def test_cancelling_during_a_payment_announces_the_refund(
    desk: Client, book: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge = fake.FakeProvider.charge

    def cancelled_meanwhile(self: fake.FakeProvider, *asked: Any) -> Any:
        answer = charge(self, *asked)
        cancel_order(Order.objects.get().pk, User.objects.get())
        return answer

    monkeypatch.setattr(fake.FakeProvider, "charge", cancelled_meanwhile)
    carts.set_line(digest_in(desk), book.pk, 1)
    said = text_of(desk.get(send(desk)["Location"]))
    assert "to be refunded" in said
    assert "still waiting" not in said
    assert_ledger_is_right({book.pk: 3})


def test_forms_that_order_pay_or_cancel_require_a_csrf_token(book: Product) -> None:
    alice, browser = User.objects.create_user("alice"), Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    carts.set_line(digest_in(browser), book.pk, 1)
    assert browser.post("/shop/checkout/", GIVEN | hidden(browser.get("/shop/checkout/"))).status_code == 403
    assert not Order.objects.exists()
    order = check_out(alice, digest_in(browser))
    for what in ("pay", "cancel"):
        assert browser.post(f"/shop/orders/{order.pk}/{what}/", CARD_FIELDS).status_code == 403
    assert Order.objects.get().state == OrderState.RESERVED


def test_only_the_customer_can_pay_an_order(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    order = Order.objects.get(pk=int(send(desk, card=fake.REFUSED_CARD)["Location"].split("/")[3]))
    other = Client()
    assert other.get(f"/shop/orders/{order.pk}/pay/").status_code == 302
    other.force_login(User.objects.create_user("bob"))
    assert other.get(f"/shop/orders/{order.pk}/pay/").status_code == 404
    assert other.post(f"/shop/orders/{order.pk}/pay/", CARD_FIELDS).status_code == 404
    assert Payment.objects.count() == 1


def test_a_paid_order_is_not_paid_again(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    order = send(desk)["Location"]
    assert desk.get(f"{order}pay/")["Location"] == order
    assert desk.post(f"{order}pay/", CARD_FIELDS)["Location"] == order
    assert FakeCharge.objects.count() == 1


def test_a_form_repeated_after_a_crash_pays_the_existing_order(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    before = hidden(desk.get("/shop/checkout/"))
    address = checkout.OrderAddress("Alice", "alice@example.org", "1 Long Lane")
    order = checkout.begin_checkout(
        User.objects.get(), digest_in(desk), version=int(before["version"]), total=1250, address=address
    )
    assert desk.post("/shop/checkout/", GIVEN | before)["Location"] == f"/shop/orders/{order.pk}/"
    assert Order.objects.get().state == OrderState.PAID


def test_a_form_of_an_ordered_cart_leads_to_its_order(desk: Client, book: Product) -> None:
    carts.set_line(digest_in(desk), book.pk, 1)
    before = hidden(desk.get("/shop/checkout/"))
    first = desk.post("/shop/checkout/", GIVEN | before)["Location"]
    assert desk.post("/shop/checkout/", GIVEN | before)["Location"] == first
    assert desk.get("/shop/checkout/")["Location"] == "/shop/cart/"
    assert Order.objects.count() == 1


def test_submissions_are_rate_limited(desk: Client, book: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shop.views.checkout.SUBMISSION_LIMIT", (2, 600))
    carts.set_line(digest_in(desk), book.pk, 1)
    codes = [send(desk, email="nobody").status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    order = check_out(User.objects.get(), digest_in(desk))
    assert desk.post(f"/shop/orders/{order.pk}/pay/", CARD_FIELDS).status_code == 429
    assert not Payment.objects.exists()


def test_attempts_with_cards_are_limited(desk: Client, book: Product, settings: Settings) -> None:
    settings.SHOP_PAYMENT_TRIES = 2
    carts.set_line(digest_in(desk), book.pk, 1)
    pay = send(desk, card=fake.REFUSED_CARD)["Location"]
    assert desk.post(pay, CARD_FIELDS | {"card": fake.REFUSED_CARD})["Location"] == pay
    page = desk.post(pay, CARD_FIELDS, follow=True)
    assert "Too many attempts" in text_of(page)
    assert Payment.objects.count() == 2


def test_successful_payments_do_not_count_as_attempts(desk: Client, book: Product, settings: Settings) -> None:
    settings.SHOP_PAYMENT_TRIES = 1
    for _ in range(3):
        carts.set_line(digest_in(desk), book.pk, 1)
        send(desk)
    assert Order.objects.filter(state=OrderState.PAID).count() == 3


def test_cards_are_never_stored_or_logged(
    desk: Client, book: Product, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    for number, patience in ((fake.GOOD_CARD, settings.PAYMENT_TIMEOUT_SECONDS), (fake.HANGING_CARD, 0.2)):
        settings.PAYMENT_TIMEOUT_SECONDS = patience
        carts.set_line(digest_in(desk), book.pk, 1)
        for changed in ({"postcode": "wrong"}, {}):
            send(desk, card=number, expiry="11/39", code="7654", **changed)
    kept = [str(row) for model in (Order, Payment, FakeCharge) for row in model._base_manager.values()]
    assert len(kept) == 5
    kept += [str(dict(desk.session)), caplog.text]
    # The code alone, because times and ids have many digits
    typed = re.compile(r"42424242|00000051|11/39|(?<![\d.])7654(?!\d)")
    assert [text for text in kept if typed.search(text)] == []
