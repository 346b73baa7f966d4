"""Second factors, with a passkey of Chromium's virtual authenticator."""

import base64
import re

import pytest
from playwright.sync_api import CDPSession, Page, expect

from accounts.models import User
from tests.browser.conftest import PHONE, Audit, OpenPage, open_own_menu
from tests.support.accounts.factors import present_code
from tests.support.warm_mirrors import rebuild

PASSWORD = "a quiet bookshop"
pytestmark = pytest.mark.slow(seconds=10)


@pytest.fixture
def alice(transactional_db: None) -> User:
    rebuild(["user", "session"])
    return User.objects.create_user("alice", password=PASSWORD)


def plug_in(page: Page) -> tuple[CDPSession, str]:
    """Give the browser a security key that confirms every request. Return its id, and the session that controls it."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    key = {"protocol": "ctap2", "transport": "usb", "hasResidentKey": False, "hasUserVerification": False}
    options = key | {"automaticPresenceSimulation": True}
    made = devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return devtools, made["authenticatorId"]


def log_in(page: Page) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()


def test_passkey_is_added_and_used(open_page: OpenPage, audit: Audit, alice: User) -> None:
    page = open_page(viewport=PHONE, reuse=False)
    plug_in(page)
    log_in(page)
    expect(page.get_by_role("banner")).to_contain_text("alice")
    page.goto("/accounts/")
    page.get_by_role("link", name="Two-step login").click()
    page.get_by_role("link", name="Add passkey").click()
    assert audit(page) == []
    page.get_by_label("Name of the passkey").fill("Blue key")
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    code = page.locator(".codes code").first.inner_text()
    assert audit(page) == []
    page.get_by_role("link", name="I have saved them").click()
    expect(page.get_by_role("main")).to_contain_text("Blue key")
    assert audit(page) == []
    open_own_menu(page).get_by_role("button", name="Log out").click()
    log_in(page)
    expect(page).to_have_url(re.compile("/accounts/login/factor/$"))
    assert audit(page) == []
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("banner")).to_contain_text("alice")
    open_own_menu(page).get_by_role("button", name="Log out").click()
    log_in(page)
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Use the code").click()
    expect(page.get_by_role("banner")).to_contain_text("alice")


def test_refused_passkey_is_reported(open_page: OpenPage, alice: User) -> None:
    page = open_page(reuse=False)
    plug_in(page)
    log_in(page)
    page.goto("/accounts/factors/passkey/")
    expect(page.get_by_text("The browser did not provide a passkey.")).to_be_hidden()
    page.get_by_label("Name of the passkey").fill("Blue key")
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    page.goto("/accounts/factors/passkey/")
    page.get_by_label("Name of the passkey").fill("The same key")
    page.get_by_role("button", name="Create passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("The browser did not provide a passkey.")


def test_a_second_press_leaves_the_prompt_of_the_first_open(open_page: OpenPage, alice: User) -> None:
    page = open_page(reuse=False)
    devtools, key = plug_in(page)
    log_in(page)
    page.goto("/accounts/factors/passkey/")
    page.get_by_label("Name of the passkey").fill("Blue key")
    devtools.send("WebAuthn.setAutomaticPresenceSimulation", {"authenticatorId": key, "enabled": False})
    for _press in range(2):
        page.get_by_role("button", name="Create passkey").click()
    expect(page.locator("form[data-passkey]")).to_have_attribute("aria-busy", "true")
    expect(page.get_by_text("The browser did not provide a passkey.")).to_be_hidden()


def test_app_is_added_without_javascript(open_page: OpenPage, audit: Audit, alice: User) -> None:
    page = open_page(java_script_enabled=False)
    log_in(page)
    page.goto("/accounts/factors/app/")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    secret = page.locator(".key code").inner_text().replace(" ", "")
    page.get_by_label("Code").fill(present_code(base64.b32decode(secret)))
    page.get_by_role("button", name="Add app").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    with_script = open_page(reuse=False)
    log_in(with_script)
    expect(with_script).to_have_url(re.compile("/accounts/login/factor/$"))
    assert audit(with_script) == []
