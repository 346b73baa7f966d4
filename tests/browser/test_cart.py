"""The cart, with JavaScript and without it."""

import re

import pytest
from playwright.sync_api import Page, expect

from mirror.relay.drains import drain_all
from shop.models import Product
from tests.browser.conftest import PHONE, WIDTHS, Audit, OpenPage, resize
from tests.support.catalog.make import make_book
from tests.support.shop.make import make_product, make_sale
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(transactional_db: None) -> list[Product]:
    """Create four books for sale: one at a reduced price, and one with two copies left."""
    made = [
        make_product("The Book of Sand", price=1250, stock=20),
        make_product("A Universal History of Infamy, with an Index and Several Appendices", price=900, stock=2),
        Product.objects.create(book=make_book("The Aleph", authors="Jorge Luis Borges"), price=2000, stock=9),
        make_product("Fictions", price=700, stock=9),
    ]
    make_sale(made[2], price=1500)
    rebuild()
    return made


# Runs as soon as a script that has changed the page ends: before the next key or click.
WATCH_UNPROCESSED = """() => {
    window.unprocessed = 0;
    const count = () => { window.unprocessed += document.querySelectorAll(".htmx-added, .htmx-settling").length; };
    new MutationObserver(count).observe(document.body, {childList: true, subtree: true});
}"""


def put(page: Page, product: Product, copies: int = 1) -> None:
    """Add copies of a book to the cart on the page of the book."""
    page.goto(f"/books/{product.pk}/")
    page.get_by_label("Quantity").fill(str(copies))
    page.get_by_role("button", name="Add to cart").click()
    expect(page.get_by_role("status").filter(has_text="Added to cart")).to_have_count(1)


@pytest.mark.parametrize("which", ["person", "plain"])
def test_books_are_added_changed_and_removed(which: str, shelf: list[Product], request: pytest.FixtureRequest) -> None:
    page: Page = request.getfixturevalue(which)
    put(page, shelf[0], 2)
    link = page.locator("#cart-link")
    expect(link).to_contain_text("(2 copies)")
    put(page, shelf[3])
    expect(page).to_have_url(re.compile(f"/books/{shelf[3].pk}/$"))
    expect(link).to_contain_text("(3 copies)")
    link.click()
    expect(page.locator(".sums dd")).to_have_text("€32.00")
    for step, sum_ in (
        ("Add", "€44.50"),
        ("Add", "€57.00"),
        ("Remove", "€44.50"),
        ("Remove", "€32.00"),
        ("Remove", "€19.50"),
    ):
        page.get_by_role("button", name=f"{step} one copy of The Book of Sand").click()
        expect(page.locator(".sums dd")).to_have_text(sum_)
    page.get_by_label("Quantity of The Book of Sand").fill("5")
    page.get_by_label("Quantity of The Book of Sand").press("Enter")
    expect(page.locator(".sums dd")).to_have_text("€69.50")
    expect(link).to_contain_text("(6 copies)")
    page.get_by_role("button", name="Remove Fictions").click()
    expect(page.locator(".sums dd")).to_have_text("€62.50")
    page.get_by_role("button", name="Remove The Book of Sand").click()
    expect(page.get_by_text("Your cart is empty.")).to_be_visible()
    expect(link).not_to_contain_text("copies")


@pytest.mark.parametrize("which", ["person", "plain"])
def test_the_page_of_a_book_has_the_steps_of_the_cart(
    which: str, shelf: list[Product], request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(which)
    page.goto(f"/books/{shelf[1].pk}/")
    steps, quantity = page.locator(".buy .step"), page.get_by_label("Quantity")
    if which == "plain":  # scripts do the steps
        assert [step.is_visible() for step in steps.all()] == [False, False]
        return
    for step, shown in ((1, "2"), (1, "3"), (0, "2"), (0, "1"), (0, "1")):
        steps.nth(step).click()
        expect(quantity).to_have_value(shown)
    assert page.url.endswith(f"/books/{shelf[1].pk}/")


def test_the_way_to_the_checkout_is_above_the_links_of_a_phone(shelf: list[Product], open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE)
    for product in shelf[:3]:
        put(page, product)
    page.goto("/shop/cart/")
    button = page.get_by_role("link", name="Proceed to checkout").bounding_box()
    links = page.get_by_role("navigation", name="Main").bounding_box()
    assert button
    assert links
    assert button["y"] + button["height"] <= links["y"]


def test_focus_moves_to_the_next_line_when_a_book_is_removed(shelf: list[Product], person: Page) -> None:
    for product in shelf[:3]:
        put(person, product)
    person.goto("/shop/cart/")
    for removed, focused in (
        ("The Book of Sand", "A Universal History of Infamy"),
        ("The Aleph", "A Universal History of Infamy"),
    ):
        person.get_by_role("button", name=f"Remove {removed}").press("Enter")
        expect(person.get_by_role("button", name=f"Remove {removed}")).to_have_count(0)
        expect(person.get_by_role("listitem").filter(has_text=focused)).to_be_focused()
    person.get_by_role("button", name="Remove A Universal History").press("Enter")
    expect(person.get_by_text("Your cart is empty.")).to_be_focused()


def test_a_new_part_works_as_soon_as_it_is_there(shelf: list[Product], person: Page) -> None:
    for product in shelf[:2]:
        put(person, product)
    person.goto("/shop/cart/")
    person.evaluate(WATCH_UNPROCESSED)
    person.get_by_role("button", name="Remove The Book of Sand").press("Enter")
    expect(person.get_by_role("button", name="Remove The Book of Sand")).to_have_count(0)
    assert person.evaluate("window.unprocessed") == 0  # otherwise a quick key would send a form without htmx


def test_copies_are_stepped_without_scripts(shelf: list[Product], plain: Page) -> None:
    put(plain, shelf[0], 2)
    plain.goto("/shop/cart/")
    plain.get_by_role("button", name="Add one copy of The Book of Sand").click()
    expect(plain.locator(".sums dd")).to_have_text("€37.50")
    plain.get_by_label("Quantity of The Book of Sand").fill("1")
    plain.get_by_role("button", name="Remove one copy of The Book of Sand").click()
    expect(plain.get_by_text("Your cart is empty.")).to_be_visible()
    plain.get_by_role("button", name="Undo").click()
    expect(plain.get_by_label("Quantity of The Book of Sand")).to_have_value("3")


def test_what_was_added_is_shown_and_undone_by_keyboard(
    shelf: list[Product], open_page: OpenPage, audit: Audit
) -> None:
    for width in WIDTHS:
        page = open_page(viewport={"width": width, "height": 844})
        small = page.locator("#mini-cart")
        put(page, shelf[0], 2)
        expect(small).to_contain_text("2 × €12.50")
        expect(small.get_by_role("link", name="View cart")).to_be_visible()
        page.keyboard.press("Escape")
        expect(small).to_be_hidden()
        page.get_by_role("button", name="Add to cart").press("Enter")
        expect(small).to_contain_text("4 × €12.50")
        assert audit(page) == []
        page.set_viewport_size({"width": width, "height": 844})
        small.get_by_role("button", name="Undo").press("Enter")
        expect(page.locator(f"#said-{shelf[0].pk}")).to_contain_text("Now in your cart: 2 copies")
        expect(small.get_by_role("link", name="View cart")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_label("Quantity of The Book of Sand")).to_have_value("2")
        page.get_by_role("button", name="Remove The Book of Sand").click()


def test_cart_is_accessible_and_fits(shelf: list[Product], open_page: OpenPage, audit: Audit) -> None:
    page = open_page(viewport=PHONE)
    for product in shelf:
        put(page, product, 2)
    Product.objects.filter(pk=shelf[3].pk).update(stock=0)
    Product.objects.filter(pk=shelf[0].pk).update(price=1400)
    drain_all()
    page.goto("/shop/cart/")
    assert audit(page) == []
    resize(page, PHONE["width"])
    line, summary = (
        page.locator(".lines .media").filter(has_text="The Aleph"),
        page.locator(".cart-summary").bounding_box(),
    )
    title = line.locator(".line-title").bounding_box()
    assert title
    # The padding enlarges the links of the authors.
    author = line.locator(".card-by").evaluate(
        "by => by.getBoundingClientRect().top + parseFloat(getComputedStyle(by).paddingTop)"
    )
    assert round(author - title["y"] - title["height"]) == 4, "the former price is beside both"
    assert summary
    assert (summary["x"], summary["width"]) == (0, PHONE["width"])  # a bar at the main links


def test_pages_have_one_frame(shelf: list[Product], open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE)
    put(page, shelf[0])
    page.goto("/shop/cart/")
    nav = page.get_by_role("navigation", name="Main")
    expect(nav).to_be_visible()
    head, cart = (page.locator(each).bounding_box() for each in ("main h1", "#cart"))
    assert head
    assert cart
    assert round(cart["y"] - head["y"] - head["height"]) == 24
    page.goto("/shop/checkout/")
    expect(page.get_by_text("Contact", exact=True)).to_be_visible()
    expect(nav).to_be_hidden()  # while the buyer pays
    page.goto("/books/999999/")
    head, links = (page.locator(each).bounding_box() for each in ("main h1", "main .buttons"))
    assert head
    assert links
    assert (head["x"], head["width"]) == (links["x"], links["width"])
