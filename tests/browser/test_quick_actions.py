"""A second action while htmx still replaces the part of the page in which it was made."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from accounts.models import User
from catalog.models import Book
from catalog.tags import votes
from shop.models import Product
from tests.browser.conftest import OpenPage, settled
from tests.browser.test_cart import put
from tests.browser.test_loginlog import sign_in
from tests.support.servers import wait_until
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


class HeldRequests:
    """The first request that htmx sends waits until ``let_go`` is called."""

    def __init__(self, page: Page, path: str) -> None:
        self.page, self.held = page, list[Route]()
        self.is_open = False
        page.route(re.compile(path), self._hold)

    def _hold(self, route: Route) -> None:
        if self.is_open or "hx-request" not in route.request.headers:
            route.continue_()
        else:
            self.held.append(route)

    def wait(self) -> None:
        """Wait until the first request is sent."""
        wait_until(self._is_holding, "the first request")

    def _is_holding(self) -> bool:
        self.page.wait_for_timeout(10)  # lets Playwright call ``_hold``
        return bool(self.held)

    def let_go(self) -> None:
        """Let the waiting request and all later ones pass."""
        assert len(self.held) == 1, "an action did not wait for the first one"
        self.is_open = True
        self.held[0].continue_()


@pytest.fixture
def products(transactional_db: None) -> list[Product]:
    made = [make_product(title, price=1000, stock=20) for title in ("The Book of Sand", "Letters", "Fictions")]
    rebuild()
    return made


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page(reuse=False)


@pytest.fixture
def cart(products: list[Product], page: Page) -> Page:
    """Open a cart with three lines."""
    for product in products:
        put(page, product)
    page.goto("/shop/cart/")
    settled(page)
    return page


def quantity(page: Page, title: str) -> Locator:
    return page.get_by_label(f"Quantity of {title}")


def remove(page: Page, title: str) -> Locator:
    return page.get_by_role("button", name=f"Remove {title}")


def test_line_is_removed_at_once_after_its_quantity_was_typed(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    quantity(cart, "Letters").fill("5")
    remove(cart, "Letters").click()
    held.wait()
    held.let_go()
    expect(quantity(cart, "Letters")).to_have_count(0)
    expect(cart.locator(".sums dd")).to_have_text("€20.00")


def test_other_line_is_removed_at_once_after_a_quantity_was_typed(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    quantity(cart, "Letters").fill("5")
    remove(cart, "Fictions").click()
    held.wait()
    held.let_go()
    expect(quantity(cart, "Fictions")).to_have_count(0)
    expect(cart.locator(".sums dd")).to_have_text("€60.00")


def test_checkout_waits_for_a_typed_quantity_and_is_left_out_after_a_refusal(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    quantity(cart, "Letters").fill("5")
    proceed = cart.get_by_role("link", name="Proceed to checkout")
    proceed.click()
    held.wait()
    expect(cart).to_have_url(re.compile("/shop/cart/"))
    held.let_go()
    expect(cart.get_by_role("heading", name="Checkout")).to_be_visible()
    expect(cart.locator(".lines .media", has_text="Letters")).to_contain_text("5 ×")
    cart.goto("/shop/cart/")
    settled(cart)
    quantity(cart, "Letters").fill("100")
    proceed.click()
    expect(quantity(cart, "Letters")).to_be_focused()  # the browser says why
    quantity(cart, "Letters").evaluate("field => field.removeAttribute('max')")
    quantity(cart, "Letters").fill("101")
    proceed.click()
    expect(cart.get_by_role("alert")).to_be_visible()
    cart.wait_for_timeout(300)  # for a navigation that must not happen
    expect(cart).to_have_url(re.compile("/shop/cart/"))


def test_all_quick_actions_in_the_cart_count(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    remove(cart, "Fictions").click()
    held.wait()
    remove(cart, "Letters").click()
    quantity(cart, "The Book of Sand").fill("3")
    quantity(cart, "The Book of Sand").press("Tab")
    held.let_go()
    expect(quantity(cart, "Letters")).to_have_count(0)
    expect(cart.locator(".sums dd")).to_have_text("€30.00")
    expect(quantity(cart, "Fictions")).to_have_count(0)


def test_quantity_that_is_being_typed_is_kept_and_sent(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    remove(cart, "Fictions").click()
    held.wait()
    quantity(cart, "Letters").press("ControlOrMeta+A")
    quantity(cart, "Letters").press_sequentially("7")
    held.let_go()
    expect(quantity(cart, "Fictions")).to_have_count(0)
    expect(quantity(cart, "Letters")).to_have_value("7")
    expect(quantity(cart, "Letters")).to_be_focused()
    quantity(cart, "Letters").press("Tab")
    expect(cart.locator(".sums dd")).to_have_text("€80.00")


def test_button_that_is_replaced_while_the_mouse_presses_it_is_clicked(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    quantity(cart, "Letters").fill("5")
    remove(cart, "Letters").hover()
    cart.mouse.down()  # takes the focus from the field, which sends the quantity
    held.wait()
    held.let_go()
    expect(cart.locator(".sums dd")).to_have_text("€70.00")
    settled(cart)
    cart.mouse.up()
    expect(quantity(cart, "Letters")).to_have_count(0)
    expect(cart.locator(".sums dd")).to_have_text("€20.00")


def test_two_filters_are_removed_at_once(page: Page, products: list[Product]) -> None:
    page.goto("/books/?year_from=1900&in_stock=1&price_to=99")
    settled(page)
    chips = page.get_by_role("list", name="Your tags and filters")
    held = HeldRequests(page, r"/books/")
    chips.get_by_role("link", name="In stock").click()
    held.wait()
    chips.get_by_role("link", name="1900").click()
    held.let_go()
    expect(page).to_have_url(re.compile(r"/books/\?price_to=99$"))
    expect(chips.get_by_role("link", name="1900")).to_have_count(0)
    expect(chips.get_by_role("link", name="In stock")).to_have_count(0)


def test_two_tags_are_removed_at_once_and_a_typed_tag_is_kept(
    page: Page, products: list[Product], live_server: object
) -> None:
    reader, book = User.objects.create_user("rita"), Book.objects.get(pk=products[0].pk)
    for name in ("one", "two"):
        votes.give_tag(reader.pk, book.pk, name)
    rebuild()
    sign_in(page, reader, live_server)  # type: ignore[arg-type]
    page.goto(f"/books/{book.pk}/")
    settled(page)
    held = HeldRequests(page, "/tags/")
    page.get_by_role("button", name="Remove your tag “one”").click()
    held.wait()
    page.get_by_role("button", name="Remove your tag “two”").click()
    page.locator("summary", has_text="Add a tag").click()
    page.get_by_label("Add a tag").fill("three")
    held.let_go()
    expect(page.get_by_role("button", name=re.compile("Remove your tag"))).to_have_count(0)
    expect(page.get_by_label("Add a tag")).to_have_value("three")
    assert votes.find_own_tags(reader.pk, book.pk) == []


def test_every_press_of_a_step_counts(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    more = cart.get_by_role("button", name="Add one copy of Letters")
    more.click()
    held.wait()
    more.click()
    more.click()
    cart.get_by_role("button", name="Remove one copy of Fictions").click()
    held.let_go()
    expect(quantity(cart, "Fictions")).to_have_count(0)
    expect(quantity(cart, "Letters")).to_have_value("4")
    expect(cart.locator(".sums dd")).to_have_text("€50.00")
    cart.get_by_role("button", name="Undo").press("Enter")
    expect(quantity(cart, "Fictions")).to_have_value("1")
    expect(cart.get_by_role("listitem").filter(has_text="Fictions")).to_be_focused()
    # A step from a typed quantity starts with it.
    quantity(cart, "Letters").fill("8")
    more.click()
    expect(cart.locator(".sums dd")).to_have_text("€110.00")


def test_second_click_on_a_button_is_no_second_wish(cart: Page) -> None:
    held = HeldRequests(cart, "/shop/cart/")
    sent: list[str] = []
    cart.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)
    remove(cart, "Fictions").dblclick()
    held.wait()
    held.let_go()
    expect(quantity(cart, "Fictions")).to_have_count(0)
    settled(cart)
    assert sent == ["POST"]
