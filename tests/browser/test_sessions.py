"""Sessions of one user in several browsers: an ended session is anonymous at its next click."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.sessions.services import end_all_sessions
from tests.browser.conftest import PHONE, OpenPage
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a quiet bookshop"
IPHONE = {
    "viewport": PHONE,
    "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
}


@pytest.fixture
def alice(transactional_db: None) -> User:
    rebuild(["session"])
    return User.objects.create_user("alice", password=PASSWORD)


def log_in(page: Page) -> Page:
    page.goto("/accounts/login/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("banner")).to_contain_text("alice")
    return page


@pytest.fixture(params=[True, False], ids=["with JavaScript", "without"])
def desk(request: pytest.FixtureRequest, alice: User, open_page: OpenPage) -> Page:
    return log_in(open_page(java_script_enabled=request.param))


@pytest.fixture
def phone(alice: User, open_page: OpenPage) -> Page:
    return log_in(open_page(**IPHONE))


def is_out(page: Page) -> None:
    """Check that the browser is logged out at its next click."""
    page.get_by_role("link", name="Books").first.click()
    expect(page).to_have_url(re.compile("/books/"))
    expect(page.get_by_role("banner").get_by_role("link", name="Log in")).to_be_visible()


def is_in(page: Page) -> None:
    page.goto("/books/")
    expect(page.get_by_role("banner")).to_contain_text("alice")


def test_ended_session_is_logged_out_at_its_next_click(desk: Page, phone: Page) -> None:
    desk.goto("/accounts/sessions/")
    expect(desk.get_by_role("main").get_by_role("listitem")).to_have_count(2)
    present = desk.get_by_role("main").get_by_role("listitem").filter(has_text="This browser")
    expect(present).to_contain_text(re.compile("Chrome|Chromium"))
    desk.get_by_role("button", name=re.compile("^Log out: Safari on iPhone")).click()
    expect(desk.get_by_role("status")).to_contain_text("That browser is logged out.")
    expect(desk.get_by_role("main").get_by_role("listitem").filter(has_text="Safari")).to_have_count(0)
    is_out(phone)
    is_in(desk)


def test_all_other_sessions_can_be_ended_at_once(desk: Page, phone: Page, open_page: OpenPage) -> None:
    third = log_in(open_page())
    desk.goto("/accounts/sessions/")
    desk.get_by_role("button", name="Log out everywhere else").click()
    expect(desk.get_by_role("status")).to_contain_text("Logged out 2 other browsers.")
    expect(desk.get_by_role("main")).to_contain_text("You are not logged in anywhere else.")
    is_out(phone)
    is_out(third)
    is_in(desk)


def test_password_change_ends_only_other_sessions(desk: Page, phone: Page) -> None:
    desk.goto("/accounts/password_change/")
    desk.locator("input[name=old_password]").fill(PASSWORD)
    for field in desk.locator("input[name^=new_password]").all():
        field.fill("a noisy bookshop")
    desk.get_by_role("main").locator("button").first.click()
    expect(desk).not_to_have_url(re.compile("/password_change/$"))
    is_out(phone)
    is_in(desk)


def test_ending_all_sessions_logs_out_every_browser(alice: User, desk: Page, phone: Page) -> None:
    desk.goto("/")
    phone.goto("/")
    end_all_sessions(alice)
    is_out(desk)
    is_out(phone)
