"""The account pages: addresses, passwords, deletion and download, with accessibility checks."""

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.conftest import PHONE, Audit, OpenPage, open_own_menu
from tests.support.accounts.mail import deliver_emails, find_link
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD, NEW, ADDRESS = "a quiet bookshop", "an even quieter one", "alice@example.org"


@pytest.fixture
def alice(transactional_db: None) -> User:
    rebuild(["user", "session"])
    return User.objects.create_user("alice", password=PASSWORD)


def log_in(page: Page, password: str = PASSWORD) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(password)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("banner")).to_contain_text("alice")


def confirm_address(page: Page) -> None:
    """Add and confirm an address of the account."""
    open_own_menu(page).get_by_role("link", name="Account").click()
    page.get_by_role("link", name="Email address").click()
    page.get_by_label("New email address").fill(ADDRESS)
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Send link").click()
    expect(page.get_by_role("status")).to_contain_text("We sent a link to")
    (letter,) = deliver_emails()
    page.goto(find_link(letter))
    page.get_by_role("button", name="Verify this address").click()
    expect(page.get_by_role("status")).to_contain_text("Your email address was changed.")
    expect(page.get_by_role("main")).to_contain_text(ADDRESS)


@pytest.mark.parametrize("java_script", [True, False])
def test_confirmed_address_can_reset_the_password(open_page: OpenPage, alice: User, java_script: bool) -> None:
    page = open_page(java_script_enabled=java_script)
    log_in(page)
    confirm_address(page)
    page.get_by_role("main").get_by_role("button", name="Log out").click()
    page.goto("/accounts/password_reset/")
    page.get_by_label("Email address").fill(ADDRESS)
    page.get_by_role("button", name="Send link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Check your email")
    (letter,) = deliver_emails()
    page.goto(find_link(letter))
    expect(page).to_have_url(re.compile("/set-password/$"))
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password confirmation").fill(NEW)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Password changed")
    log_in(page, NEW)


PAGES = ["/accounts/", "/accounts/email/x/", "/accounts/reset/x/y-z/"]  # a long address, and invalid links


def test_account_pages_are_accessible_and_fit(open_page: OpenPage, audit: Audit, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="a-rather-long-address-for-so-small-a-telephone@mail.example.org")
    page = open_page(viewport=PHONE)
    log_in(page)
    for path in PAGES:
        page.goto(path)
        assert audit(page) == [], path


def test_account_deletion_can_be_revoked_by_logging_in(open_page: OpenPage, audit: Audit, alice: User) -> None:
    page = open_page(viewport=PHONE)
    log_in(page)
    page.goto("/accounts/")
    page.get_by_role("link", name="Delete account").click()
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Delete account").click()
    expect(page.get_by_role("status")).to_contain_text("Your account will be deleted on")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Keep your account?")
    assert audit(page) == []
    page.get_by_role("button", name="Keep account").click()
    expect(page.get_by_role("status")).to_contain_text("Your account is kept.")
    expect(page.get_by_role("banner")).to_contain_text("alice")


def test_account_data_is_downloaded_as_a_file(open_page: OpenPage, alice: User) -> None:
    page = open_page()
    log_in(page)
    page.goto("/accounts/download/")
    page.get_by_label("Current password").fill(PASSWORD)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download your data").click()
    assert '"username": "alice"' in download.value.path().read_text()
