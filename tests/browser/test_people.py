"""A reader changes name, profile and privacy, and accepts a follower: without JavaScript, on a phone and a desktop."""

from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings
from PIL import Image
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Book
from social.models import FollowRequest
from social.services.posts import create_post
from tests.browser.conftest import Audit, OpenPage, tab_to
from tests.browser.test_loginlog import sign_in
from tests.support.warm_mirrors import rebuild

PASSWORD = "a quiet bookshop"

pytestmark = pytest.mark.django_db(transaction=True)


def make_photo() -> bytes:
    made = BytesIO()
    Image.new("RGB", (300, 200), "#a02020").save(made, "JPEG")
    return made.getvalue()


def test_a_reader_sets_up_the_account(
    transactional_db: None,
    open_page: OpenPage,
    live_server: LiveServer,
    audit: Audit,
    tmp_path: Path,
    settings: Settings,
) -> None:
    settings.MEDIA_ROOT = str(tmp_path)
    rita = User.objects.create_user("rita", password=PASSWORD, email="rita@example.org")
    otto = User.objects.create_user("otto", password=PASSWORD)
    Book.objects.create(title="A fine book", rating="4.10", popularity=7)
    create_post(rita.pk, "Only for friends.")
    rebuild()

    page: Page = open_page(java_script_enabled=False)
    page.goto("/accounts/login/")
    page.get_by_label("Name or email address").fill("RITA@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").press("Enter")
    page.goto("/accounts/")
    page.get_by_role("link", name="Name").press("Enter")
    page.get_by_label("Name").fill("Rita Reed")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Change name").press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Your name is now Rita Reed.")
    page.get_by_role("link", name="Preferences").press("Enter")
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    page.get_by_label("Logins").select_option("Everyone sees them")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")

    page.goto("/people/profile/")
    page.get_by_label("File").set_input_files({"name": "me.jpg", "mimeType": "image/jpeg", "buffer": make_photo()})
    page.get_by_role("button", name="Upload picture").press("Enter")
    page.get_by_label("About you").fill("I read on trains.")
    page.get_by_label("Link 1").fill("https://rita.example/")
    page.get_by_role("button", name="Save").press("Enter")
    page.get_by_label("Find a book").fill("fine")
    page.get_by_label("Find a book").press("Enter")
    page.get_by_role("button", name="Add A fine book").press("Enter")
    expect(page.get_by_role("button", name="Remove A fine book")).to_be_visible()
    page.goto("/people/requests/")
    page.get_by_label("Who sees your profile").select_option("1")
    page.get_by_role("button", name="Save").press("Enter")

    other = sign_in(open_page(), otto, live_server)
    other.goto("/u/rita/")
    expect(other).to_have_url(f"{live_server.url}/u/Rita%20Reed/")
    expect(other.get_by_text("private account")).to_be_visible()
    expect(other.get_by_text("Only for friends.")).to_have_count(0)
    other.get_by_role("button", name="Follow Rita Reed").press("Enter")
    expect(other.get_by_role("button", name="Cancel the request to follow Rita Reed")).to_be_visible()
    assert audit(other) == []
    page.goto("/people/requests/")
    page.get_by_role("button", name="Accept: otto").press("Enter")
    expect(page.get_by_text("No requests right now.")).to_be_visible()
    assert not FollowRequest.objects.exists()
    other.reload()
    expect(other.get_by_text("Only for friends.")).to_be_visible()
    expect(other.get_by_text("I read on trains.")).to_be_visible()
    expect(other.locator("img.avatar").first).to_have_js_property("naturalWidth", 384)
    for address in (
        "/u/Rita%20Reed/",
        "/people/profile/",
        "/people/requests/",
        "/accounts/preferences/",
        "/accounts/name/",
    ):
        other.goto(address)
        assert audit(other) == [], address


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_file_field_has_the_focus_and_words_in_the_language_of_the_page(
    transactional_db: None, open_page: OpenPage, live_server: LiveServer, has_scripts: bool
) -> None:
    page = sign_in(open_page(java_script_enabled=has_scripts), User.objects.create_user("rita"), live_server)
    page.context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": "zh-hans", "url": live_server.url}])
    page.goto("/people/profile/")
    field = page.locator("#file")
    expect(page.locator(".file .button")).to_have_text("选择文件")
    expect(field).to_have_css("color", "rgba(0, 0, 0, 0)")  # the browser's words, until a file is chosen
    tab_to(page, field)
    expect(page.locator(".file .button")).to_have_css("outline-style", "solid")
    field.set_input_files({"name": "me.jpg", "mimeType": "image/jpeg", "buffer": make_photo()})
    expect(field).not_to_have_css("color", "rgba(0, 0, 0, 0)")
