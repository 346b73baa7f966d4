"""Registration, login and logout, with JavaScript, without it, and by keyboard only."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.conftest import PHONE, open_own_menu, tab_to

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "a quiet bookshop"


@pytest.fixture(params=["person", "plain"])
def page(request: pytest.FixtureRequest) -> Page:
    """Run each test with JavaScript and without it."""
    page: Page = request.getfixturevalue(request.param)
    return page


def register(page: Page, name: str) -> None:
    page.get_by_role("banner").get_by_role("link", name="Register").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Register").click()


def test_a_phone_shows_the_way_to_register_in_the_first_screen(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.goto("/")
    page.get_by_role("banner").get_by_role("link", name="Log in").click()
    link = page.get_by_role("main").get_by_role("link", name="Register")
    expect(link).to_be_in_viewport(ratio=1)
    link.click()
    expect(page.get_by_role("heading", name="Register")).to_be_visible()


def test_user_registers_logs_out_and_logs_in(page: Page) -> None:
    page.goto("/")
    register(page, "ken thompson")
    expect(page.get_by_role("status")).to_contain_text("Welcome, ken thompson.")
    expect(page.get_by_role("banner")).to_contain_text("ken thompson")
    open_own_menu(page).get_by_role("button", name="Log out").click()
    expect(page.get_by_role("status")).to_contain_text("You are logged out.")
    page.get_by_role("banner").get_by_role("link", name="Log in").click()
    page.get_by_label("Name").fill("ken thompson")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("banner")).to_contain_text("ken thompson")


def test_form_error_is_shown_at_its_field_and_keeps_the_input(page: Page) -> None:
    User.objects.create_user("Alice")
    page.goto("/accounts/register/")
    register(page, "alice")
    name = page.get_by_label("Name")
    expect(name).to_have_value("alice")
    expect(name).to_have_accessible_description(re.compile("That name is already taken"))
    expect(name).to_have_attribute("aria-invalid", "true")


def test_wrong_password_reveals_nothing_else(page: Page) -> None:
    User.objects.create_user("alice", password=PASSWORD)
    page.goto("/accounts/login/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong. Check both and try again.")


def test_login_returns_to_the_previous_page(page: Page) -> None:
    User.objects.create_user("alice", password=PASSWORD)
    page.goto("/books/?q=fantasy")
    page.get_by_role("banner").get_by_role("link", name="Log in").click()
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile(r"/books/\?q=fantasy$"))


def test_registration_and_logout_work_by_keyboard(person: Page) -> None:
    person.goto("/")
    tab_to(person, person.get_by_role("banner").get_by_role("link", name="Register"))
    person.keyboard.press("Enter")
    person.wait_for_url("**/accounts/register/**")
    for field in ("id_username", "id_password1", "id_password2"):
        if person.locator(":focus").get_attribute("id") != field:
            tab_to(person, person.locator(f"#{field}"))
        person.keyboard.type("dennis ritchie" if field == "id_username" else PASSWORD)
    person.keyboard.press("Enter")
    expect(person.get_by_role("banner")).to_contain_text("dennis ritchie")
    tab_to(person, person.get_by_role("button", name="Menu of dennis ritchie"))
    person.keyboard.press("Enter")
    tab_to(person, person.get_by_role("button", name="Log out"))
    person.keyboard.press("Space")
    expect(person.get_by_role("banner").get_by_role("link", name="Log in")).to_be_visible()


def test_first_tab_stop_skips_to_the_content(person: Page) -> None:
    person.goto("/")
    person.keyboard.press("Tab")
    skip = person.locator(":focus")
    expect(skip).to_have_text("Skip to content")
    expect(skip).to_be_in_viewport()
    person.keyboard.press("Enter")
    expect(person).to_have_url("/#content")
    person.keyboard.press("Tab")
    assert person.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_focused_element_has_an_outline(person: Page) -> None:
    person.goto("/")
    for _ in range(8):
        person.keyboard.press("Tab")
        outline = person.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", person.locator(":focus").inner_text()
