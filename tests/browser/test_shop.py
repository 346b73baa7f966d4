"""The shop from the list of books to a cancelled order, with JavaScript and without it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.details.models import BookDetails
from mirror.relay.drains import drain_all
from shop.models import DeliveryMethod, DeliveryPrice, DeliveryZone, Order, OrderState, Payment, PaymentState, Product
from tests.browser.checkout import fill_address
from tests.browser.conftest import PHONE, Audit, OpenPage, find_overflows, open_own_menu, settled
from tests.browser.test_loginlog import sign_in
from tests.support.shop.make import make_order, make_product, make_sale
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a quiet bookshop"
PLAIN = {"java_script_enabled": False}
LONG = "A Very Long Title of a Book That Goes On and On: Being the Whole History of Everything, Newly Told"


SHIFTS = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => list.getEntries().forEach(shift => (sum += shift.value)))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 100);
})"""


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice", password=PASSWORD, email="alice@example.org")


@pytest.fixture
def emma(alice: User) -> Product:
    """Return the cheapest product, with ten copies in stock; all mirrors are warm."""
    made = make_product("Emma", price=1250, stock=10)
    make_product(LONG, price=123_450, stock=2)
    make_product("Moss", price=2000, stock=0)
    rebuild()
    return made


def heading(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def put_into_cart(page: Page, product: Product, copies: int) -> None:
    page.goto(f"/books/{product.pk}/")
    box = page.get_by_role("region", name="Buy")
    box.get_by_label("Quantity").fill(str(copies))
    box.get_by_role("button", name="Add to cart").click()
    expect(page.get_by_role("status").filter(has_text="Added to cart")).to_have_count(1)
    page.locator("#cart-link").click()
    heading(page, "My cart")


def log_in(page: Page) -> None:
    page.get_by_role("main").get_by_role("link", name="Log in").click()
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()


@pytest.mark.parametrize("options", [{}, PLAIN], ids=["with scripts", "without"])
def test_book_is_ordered_paid_and_cancelled(open_page: OpenPage, emma: Product, options: dict[str, Any]) -> None:
    page = open_page(**options)
    page.goto("/books/")
    page.get_by_role("link", name="Price: low to high").click()
    expect(page.locator(".card").first).to_contain_text("€12.50")
    page.get_by_role("link", name="Emma").click()
    heading(page, "Emma")
    put_into_cart(page, emma, 2)
    expect(page).to_have_url(re.compile("/shop/cart/$"))
    expect(page.get_by_role("banner")).to_contain_text("2")

    page.get_by_label("Quantity of Emma").fill("3")
    page.get_by_label("Quantity of Emma").press("Enter")
    expect(page.locator(".sums")).to_contain_text("€37.50")
    page.get_by_role("link", name="Proceed to checkout").click()
    log_in(page)
    heading(page, "Checkout")
    expect(page.locator(".sums")).to_contain_text("€37.50")
    page.get_by_label("Name").fill("Alice A")
    fill_address(page, has_scripts=not options)
    page.get_by_role("button", name="Place order and pay €37.50").click()

    expect(page.get_by_role("status").first).to_contain_text("Your order is paid.")
    expect(page.get_by_role("main")).to_contain_text("3 × €12.50")
    open_own_menu(page).get_by_role("link", name="Account").click()
    page.get_by_role("link", name="My orders").click()
    expect(page.locator(".order")).to_have_count(1)
    page.get_by_role("link", name=re.compile("^Order ")).click()
    page.get_by_role("link", name="Cancel order").click()
    heading(page, re.compile("^Cancel order "))
    emma.refresh_from_db()
    assert emma.stock == 7
    page.get_by_role("button", name="Cancel order").click()
    expect(page.get_by_role("status").first).to_contain_text("Your order was cancelled.")
    emma.refresh_from_db()
    assert (Order.objects.get().state, emma.stock, emma.reserved) == (OrderState.CANCELLED, 10, 0)


def test_refused_card_can_be_replaced_by_another(open_page: OpenPage, emma: Product) -> None:
    page = open_page()
    put_into_cart(page, emma, 1)
    page.get_by_role("link", name="Proceed to checkout").click()
    log_in(page)
    fill_address(page)
    page.get_by_label("Card number").fill("4000 0000 0000 0002")
    page.get_by_label("Expires").fill("1")
    page.get_by_label("Postcode").fill("wrong")
    page.get_by_role("button", name="Place order and pay €12.50").click()
    # The errors appear at their fields. The number stays in the browser; the page that came has none.
    expect(page.get_by_text("Enter the month and the year as on the card")).to_be_visible()
    expect(page.get_by_label("Postcode")).to_be_focused()
    expect(page.get_by_label("Card number")).to_have_value("4000 0000 0000 0002")
    expect(page.get_by_label("Expires")).to_have_value("")
    page.get_by_label("Postcode").fill("SW1A 1AA")
    page.get_by_label("Expires").fill("12/40")
    page.get_by_role("button", name="Place order and pay €12.50").click()
    expect(page.get_by_role("status").first).to_contain_text("Your card was declined")
    page.get_by_role("link", name="Not now").click()
    expect(page.get_by_role("main")).to_contain_text("hold these books for you")
    page.get_by_role("link", name="Pay", exact=True).click()
    page.get_by_label("Card number").fill("4242 4242 4242 4242")
    page.get_by_role("button", name="Pay €12.50").click()
    expect(page.get_by_role("status").first).to_contain_text("Your order is paid.")
    assert Order.objects.get().state == OrderState.PAID


@pytest.fixture
def pages(alice: User, emma: Product) -> list[str]:
    """Create orders in every state and a sale, and return the paths of all shop pages."""
    products = list(Product.objects.order_by("pk"))
    make_sale(emma, price=900)
    drain_all()
    now = timezone.now()
    every: list[dict[str, Any]] = [
        {"state": OrderState.RESERVED},
        {"state": OrderState.RESERVED, "reserved_until": now - timedelta(minutes=1)},
        {"state": OrderState.SENT, "paid_at": now, "sent_at": now},
        {"state": OrderState.CANCELLED, "paid_at": now, "cancelled_at": now},
    ]
    orders = [make_order(alice, *products, key=str(n), **fields) for n, fields in enumerate(every)]
    Product.objects.filter(pk=emma.pk).update(reserved=1)
    Payment.objects.create(order=orders[0], key="p", amount=1, state=PaymentState.FAILED, reason="Too little money.")
    first = f"/shop/orders/{orders[0].pk}/"
    return [
        "/books/", *(f"/books/{product.pk}/" for product in products), "/shop/cart/", "/shop/checkout/",
        "/shop/orders/", *(f"/shop/orders/{order.pk}/" for order in orders), f"{first}cancel/", f"{first}pay/",
    ]  # fmt: skip


def test_shop_pages_are_accessible_and_fit(
    open_page: OpenPage, live_server: LiveServer, audit: Audit, alice: User, pages: list[str]
) -> None:
    page = sign_in(open_page(viewport=PHONE), alice, live_server)
    for product in Product.objects.filter(stock__gt=0):
        put_into_cart(page, product, 1)
    for path in pages:
        page.goto(path)
        assert audit(page) == [], path


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_page_of_a_book_begins_with_the_cart_and_a_short_description(
    open_page: OpenPage, live_server: LiveServer, alice: User, emma: Product, has_scripts: bool
) -> None:
    long = Product.objects.get(book__title=LONG)
    text = "A sentence of the description. " * 30
    BookDetails.objects.create(book=long.book, description=text.strip(), publisher="Threshold")
    drain_all()
    page = sign_in(open_page(java_script_enabled=has_scripts, viewport=PHONE), alice, live_server)
    page.goto(f"/books/{long.pk}/")
    settled(page)
    assert not has_scripts or page.evaluate(SHIFTS) < 0.02
    expect(page.get_by_role("button", name="Add to cart")).to_be_in_viewport(ratio=1)
    described, lines = page.get_by_text(text.strip()), "element => element.offsetHeight / 25.6"
    assert described.evaluate(lines) == pytest.approx(4, abs=0.1)
    page.get_by_text("Read more").click()
    assert described.evaluate(lines) > 10
    # Beside the reviews on a wide page, the cart and the shelves stay in sight.
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("heading", name="Details").scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Add to cart")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 900}])
def test_the_place_on_the_checkout_is_kept_while_the_total_changes(
    open_page: OpenPage, emma: Product, viewport: ViewportSize
) -> None:
    zone = DeliveryZone.objects.create(name="Everywhere")
    for name in ("Standard", "Express"):
        DeliveryPrice.objects.create(
            method=DeliveryMethod.objects.create(zone=zone, name=name), max_grams=30_000, price=400
        )
    page = open_page(viewport=viewport)
    put_into_cart(page, emma, 1)
    page.goto("/shop/checkout/")
    country = page.get_by_label("Country")
    country.focus()
    page.keyboard.type("United Kingdom")
    expect(page.get_by_label("Postcode")).to_be_visible()
    settled(page)
    expect(country).to_be_focused()
    expect(country).to_be_in_viewport()
    express = page.get_by_role("radio", name="Express")
    express.click()
    expect(page.locator(".sums")).to_contain_text("Express")
    settled(page)
    expect(express).to_be_checked()
    expect(express).to_be_in_viewport()


# The steps of one word that take more than one line.
BROKEN_STEPS = """() => [...document.querySelectorAll(".steps li > span:not(.sr-only)")]
    .filter(step => !step.textContent.includes(" ") && step.getClientRects().length > 1)
    .map(step => step.textContent)"""


@pytest.mark.parametrize("size", ["100%", "200%"])
def test_steps_of_an_order_break_no_word_on_a_narrow_phone(
    open_page: OpenPage, emma: Product, live_server: LiveServer, alice: User, size: str
) -> None:
    now = timezone.now()
    states: list[dict[str, Any]] = [
        {"state": OrderState.RESERVED},
        {"state": OrderState.SENT, "paid_at": now, "sent_at": now},
        {"state": OrderState.EXPIRED, "reserved_until": now},
        {"state": OrderState.CANCELLED, "paid_at": now, "cancelled_at": now},
    ]
    orders = [make_order(alice, emma, key=str(n), **fields) for n, fields in enumerate(states)]
    page = sign_in(open_page(viewport=ViewportSize(width=320, height=800)), alice, live_server)
    for order in orders:
        page.goto(f"/shop/orders/{order.pk}/")
        page.evaluate("size => document.documentElement.style.fontSize = size", size)
        assert page.evaluate(BROKEN_STEPS) == [], order.state
        assert find_overflows(page, [320]) == []
