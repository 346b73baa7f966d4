"""The sale page: countdown, live stock, and a notice of outdated numbers."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from mirror.relay.drains import drain_all
from shop.models import Product, Sale
from shop.rowcache import rows
from shop.rowcache.daemon import run_once
from tests.browser.conftest import Audit, OpenPage
from tests.support.shop.make import make_product, make_sale
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def product(settings: Settings) -> Product:
    """Create a product on sale with a row that is refreshed every second."""
    settings.SHOP_SALE_ROW_SECONDS = 1.0
    made = make_product("Programming Erlang", price=1250, stock=7)
    make_sale(made, price=900)
    make_sale(make_product("Emma", price=1000, stock=3), price=800, starts_in=30, hours=40)
    rebuild(["book", "product", "sale"])
    run_once()
    return made


def sell(product: Product, left: int) -> None:
    Product.objects.filter(pk=product.pk).update(stock=left)
    drain_all()
    rows.schedule_row(product.pk, 60)
    run_once()


def test_stock_updates_live_and_sold_out_books_cannot_be_bought(person: Page, product: Product) -> None:
    person.goto("/shop/sale/")
    expect(person.get_by_text("7 left")).to_be_visible()
    person.evaluate("window.isTheSame = true")
    person.get_by_role("link", name="Programming Erlang").focus()
    sell(product, 5)
    expect(person.get_by_text("5 left")).to_be_visible()
    assert person.evaluate("window.isTheSame")  # the page was not reloaded, and the focus has not moved
    expect(person.get_by_role("link", name="Programming Erlang")).to_be_focused()
    sell(product, 0)
    expect(person.get_by_text("Sold out")).to_be_visible()
    expect(person.get_by_role("button", name="Add Programming Erlang to cart")).to_have_count(0)


def test_sale_counts_down(person: Page) -> None:
    person.goto("/shop/sale/")
    clock = person.locator(".clock [data-clock]").first
    before = clock.inner_text()
    expect(clock).not_to_have_text(before)
    assert clock.inner_text() < before


def test_page_reloads_at_the_end_of_the_sale(person: Page) -> None:
    person.goto("/shop/sale/")
    expect(person.get_by_text("Ends")).to_be_visible()
    Sale.objects.filter(name="Spring").delete()
    drain_all()
    person.evaluate("document.querySelector('.clock').dataset.left = 0")
    expect(person.get_by_text("There is no sale right now")).to_be_visible()


def test_outdated_numbers_are_announced(open_page: OpenPage, settings: Settings) -> None:
    """Here the numbers are outdated after half an hour, so that a slow machine cannot change the result."""
    settings.SHOP_SALE_ROW_SECONDS = 600.0
    page = open_page(reuse=False)
    page.clock.install()
    page.route("**/shop/sale/?version=*", lambda route: route.fulfill(status=204))
    page.goto("/shop/sale/")
    note = page.get_by_text("These numbers are out of date").first
    expect(note).to_be_hidden()
    page.clock.fast_forward(2_000_000)
    expect(note).to_be_visible()
    page.unroute("**/shop/sale/?version=*")
    page.clock.fast_forward(700_000)
    expect(note).to_be_hidden()


def test_sale_pages_are_accessible_and_fit(person: Page, audit: Audit) -> None:
    for path in ("/shop/sale/", "/"):
        person.goto(path)
        assert audit(person) == [], path
    Sale.objects.all().delete()
    drain_all()
    person.goto("/shop/sale/")
    assert audit(person) == []


def test_sale_works_without_javascript(plain: Page, product: Product) -> None:
    plain.goto("/shop/sale/")
    expect(plain.get_by_text("7 left")).to_be_visible()
    expect(plain.locator(".clock").first).to_be_hidden()  # it would stand still
    expect(plain.get_by_text("These numbers are out of date").first).to_be_hidden()
    sell(product, 5)
    plain.get_by_role("link", name="Refresh").first.click()
    expect(plain.get_by_text("5 left")).to_be_visible()
    plain.get_by_role("link", name="Programming Erlang").click()
    expect(plain.get_by_role("heading", name="Programming Erlang")).to_be_visible()
