"""Pages that were opened before the visitor logged in or out in another tab: their forms still do what they say."""

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.sessions.services import end_all_sessions
from catalog.models import Book
from catalog.shelves.models import ShelfEntry
from shop.models import Product
from social.models import Post
from tests.browser.conftest import OpenPage, open_own_menu
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a quiet bookshop"


@pytest.fixture
def book(transactional_db: None) -> Book:
    book = Book.objects.create(title="A fine book", rating="4.10", popularity=7)
    Product.objects.create(book=book, price=1500, stock=9)
    rebuild()
    return book


@pytest.fixture
def reader(book: Book) -> User:
    return User.objects.create_user("rita", password=PASSWORD)


@pytest.fixture(params=[True, False], ids=["with JavaScript", "without"])
def has_scripts(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def page(has_scripts: bool, reader: User, open_page: OpenPage) -> Page:
    return open_page(java_script_enabled=has_scripts)


def fill_in_login(page: Page) -> None:
    page.get_by_label("Name").fill("rita")
    page.get_by_label("Password").fill(PASSWORD)


def submit_login(page: Page) -> None:
    page.get_by_role("main").get_by_role("button", name="Log in").click()


def log_in(page: Page) -> None:
    page.goto("/accounts/login/")
    fill_in_login(page)
    submit_login(page)
    expect(page.get_by_role("banner")).to_contain_text("rita")


def log_in_elsewhere(page: Page) -> None:
    """Log in in another tab of the same window."""
    other = page.context.new_page()
    log_in(other)
    other.close()


def continue_after_login(page: Page, *, has_scripts: bool) -> None:
    """Log in when the site asks for it. Without JavaScript a button sends the form again."""
    expect(page.get_by_text("Log in to continue")).to_be_visible()
    fill_in_login(page)
    submit_login(page)
    if not has_scripts:
        page.get_by_role("button", name="Continue").click()


def test_book_is_added_to_the_cart_after_a_login_elsewhere(page: Page, book: Book) -> None:
    page.goto(f"/books/{book.pk}/")
    page.get_by_label("Quantity").fill("2")
    log_in_elsewhere(page)
    page.get_by_role("button", name="Add to cart").click()
    expect(page.get_by_text("Added to cart: 2 copies of A fine book").first).to_be_visible()
    page.goto("/shop/cart/")
    expect(page.get_by_label("Quantity of A fine book")).to_have_value("2")


def test_book_is_shelved_and_rated_after_another_login_elsewhere(page: Page, book: Book) -> None:
    log_in(page)
    page.goto(f"/books/{book.pk}/")
    page.context.clear_cookies(name="sessionid")
    log_in_elsewhere(page)
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.get_by_role("button", name="Read", exact=True, pressed=True)).to_be_visible()
    assert ShelfEntry.objects.get().shelf == "read"


def test_book_is_rated_after_the_login_that_an_ended_session_needs(
    page: Page, book: Book, reader: User, has_scripts: bool
) -> None:
    log_in(page)
    page.goto(f"/books/{book.pk}/")
    end_all_sessions(reader)
    page.get_by_role("radio", name="4 stars").check(force=True)
    if not has_scripts:
        page.get_by_role("button", name="Rate", exact=True).click()
    continue_after_login(page, has_scripts=has_scripts)
    expect(page.get_by_role("button", name="Remove rating")).to_be_visible()
    assert ShelfEntry.objects.get().stars == 8


def test_text_of_a_post_survives_the_end_of_the_session(page: Page, reader: User, has_scripts: bool) -> None:
    log_in(page)
    page.goto("/home/")
    page.get_by_label("What are you reading?").fill("A long thought,\nin two lines & <more>")
    end_all_sessions(reader)
    page.get_by_role("button", name="Post", exact=True).click()
    continue_after_login(page, has_scripts=has_scripts)
    expect(page.locator("#posts")).to_contain_text("A long thought")
    assert Post.objects.get().text == "A long thought,\nin two lines & <more>"


def test_second_login_tab_leads_on(page: Page, reader: User) -> None:
    page.goto("/accounts/login/?next=/home/")
    fill_in_login(page)
    log_in_elsewhere(page)
    submit_login(page)
    expect(page.get_by_role("heading", name="Feed")).to_be_visible()


def test_second_login_tab_does_not_change_the_account_silently(page: Page, reader: User) -> None:
    User.objects.create_user("otto", password=PASSWORD)
    page.goto("/accounts/login/?next=/home/")
    fill_in_login(page)
    page.get_by_label("Name").fill("otto")
    log_in_elsewhere(page)
    submit_login(page)
    expect(page.get_by_text("You are logged in as rita.")).to_be_visible()
    expect(page.get_by_role("banner")).to_contain_text("rita")


def test_second_tab_logs_out_after_a_login_elsewhere(page: Page, reader: User) -> None:
    log_in(page)
    page.context.clear_cookies(name="sessionid")
    log_in_elsewhere(page)
    open_own_menu(page).get_by_role("button", name="Log out").click()
    expect(page.get_by_text("You are logged out.")).to_be_visible()
