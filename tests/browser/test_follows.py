"""Following, muting and blocking, with JavaScript, without it, and by keyboard."""

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from catalog.shelves.models import Shelf
from catalog.shelves.services import put_on_shelf
from common import clock
from social.services import people
from social.services.posts import create_post
from tests.browser.conftest import OpenPage, resize, settled
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "a quiet bookshop"
DORA = "/u/D%C3%B6ra%20O%27Neil/"


@pytest.fixture
def town(transactional_db: None) -> dict[str, User]:
    """Create three users: alice follows bob, and bob follows Döra, the author of a post."""
    made = {name: User.objects.create_user(name, password=PASSWORD) for name in ("alice", "bob", "Döra O'Neil")}
    people.follow(made["alice"].pk, made["bob"].pk)
    people.follow(made["bob"].pk, made["Döra O'Neil"].pk)
    create_post(made["Döra O'Neil"].pk, "What a book!")
    rebuild()
    return made


def log_in(page: Page) -> Page:
    """Log in as alice and open the page of people."""
    page.goto("/accounts/login/?next=/people/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Feed")).to_be_visible()
    expect(page.locator(".who .name").first).to_have_css("font-weight", "600")  # system fonts have others, too
    return page


@pytest.fixture(params=[True, False], ids=["with JavaScript", "without"])
def page(request: pytest.FixtureRequest, town: dict[str, User], open_page: OpenPage) -> Page:
    """Run each test with JavaScript and without it, logged in as alice."""
    return log_in(open_page(java_script_enabled=request.param))


def test_suggested_user_is_followed_and_unfollowed(page: Page) -> None:
    page.get_by_role("link", name="Döra O'Neil").click()
    expect(page.get_by_text("Followed by bob")).to_be_visible()
    page.get_by_role("button", name="Follow Döra O'Neil", exact=True).click()
    unfollow = page.get_by_role("button", name="Unfollow Döra O'Neil", exact=True)
    expect(unfollow).to_be_visible()
    page.get_by_role("navigation", name="Pages of Döra O'Neil").get_by_role("link", name="Followers").click()
    expect(page.get_by_role("main").get_by_role("listitem").first).to_contain_text("alice")
    unfollow.click()
    expect(page.get_by_role("button", name="Follow Döra O'Neil", exact=True)).to_be_visible()


def test_mute_and_block_can_be_undone(page: Page) -> None:
    page.goto(DORA)
    page.get_by_role("button", name="More about").click()
    page.get_by_role("button", name="Mute").click()
    expect(page.get_by_text("You have muted this reader")).to_be_visible()
    page.get_by_role("button", name="More about").click()
    page.get_by_role("link", name="Block").click()
    expect(page.get_by_role("heading", name="Block Döra O'Neil?")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Block").click()
    expect(page.get_by_role("heading", name="Blocked")).to_be_visible()
    page.get_by_role("link", name="Döra O'Neil").click()
    expect(page.get_by_text("What a book!")).to_have_count(0)
    page.get_by_role("button", name="Unblock Döra O'Neil").click()
    expect(page.get_by_text("What a book!")).to_be_visible()
    page.get_by_role("button", name="Unmute Döra O'Neil").click()
    expect(page.get_by_text("You have muted this reader")).to_have_count(0)


def test_pressing_a_button_updates_the_other_list(town: dict[str, User], person: Page) -> None:
    people.follow(town["Döra O'Neil"].pk, town["bob"].pk)
    rebuild()
    settled(log_in(person))  # a press before the scripts work loads the whole page
    suggested = person.get_by_role("region", name="Suggested for you")
    following = person.get_by_role("region", name="Following")
    suggested.get_by_role("button", name="Follow Döra O'Neil", exact=True).click()
    expect(following).to_contain_text("Döra O'Neil")
    expect(suggested.get_by_role("button", name="Unfollow Döra O'Neil", exact=True)).to_be_focused()
    following.get_by_role("button", name="Unfollow bob", exact=True).click()
    expect(suggested).to_contain_text("bob")
    expect(following.get_by_role("button", name="Follow bob", exact=True)).to_be_focused()
    suggested.get_by_role("button", name="Follow bob", exact=True).click()
    expect(following.get_by_role("button", name="Unfollow bob", exact=True)).to_be_visible()


def test_follow_is_filled_on_profiles_and_their_boxes_have_one_padding(town: dict[str, User], person: Page) -> None:
    put_on_shelf(town["Döra O'Neil"].pk, make_book("Emma").pk, Shelf.READING, clock.now().date())
    rebuild()
    log_in(person)
    clear = "rgba(0, 0, 0, 0)"
    for name in ("Follow Döra O'Neil", "Unfollow bob"):
        expect(person.get_by_role("button", name=name, exact=True).first).to_have_css("background-color", clear)
    person.goto(DORA)
    button = person.get_by_role("button", name="Follow Döra O'Neil", exact=True)
    expect(button).not_to_have_css("background-color", clear)
    for width, padding in ((1280, "24px"), (390, "16px")):
        resize(person, width)
        for box in (".person-head", ".profile-books", ".post"):
            expect(person.locator(box).first).to_have_css("padding-left", padding)
    button.click()
    unfollow = person.get_by_role("button", name="Unfollow Döra O'Neil", exact=True)
    expect(unfollow).to_have_css("background-color", clear)


def test_pressed_button_keeps_the_focus(town: dict[str, User], person: Page) -> None:
    log_in(person).goto(DORA)
    for name, next_name in (("Follow", "Unfollow"), ("Unfollow", "Follow")):
        person.get_by_role("button", name=f"{name} Döra O'Neil", exact=True).focus()
        person.keyboard.press("Enter")
        expect(person.get_by_role("button", name=f"{next_name} Döra O'Neil", exact=True)).to_be_focused()
        settled(person)
