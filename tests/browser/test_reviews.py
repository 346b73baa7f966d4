"""Reviews, with JavaScript and without it."""

import re

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Book
from social.reviews.models import Review
from tests.browser.conftest import OpenPage, find_overflows, resize
from tests.browser.test_loginlog import sign_in
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def book(transactional_db: None) -> Book:
    book = Book.objects.create(title="A fine book", rating="4.10", popularity=7)
    rebuild()
    return book


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_review_is_written_read_and_deleted_by_keyboard(
    book: Book, open_page: OpenPage, live_server: LiveServer, has_scripts: bool
) -> None:
    page = sign_in(open_page(java_script_enabled=has_scripts), User.objects.create_user("rita"), live_server)
    page.goto(f"/books/{book.pk}/")
    page.get_by_role("link", name="Write a review").press("Enter")
    page.get_by_role("radio", name="3.5 stars").press("Space")
    page.get_by_label("Review", exact=True).fill("A *fine* book. ||The butler|| did it.")
    page.get_by_role("button", name="Publish").press("Enter")
    expect(page.get_by_role("emphasis")).to_have_text("fine")
    expect(page.get_by_text("3.5 stars")).to_be_visible()
    spoiler = page.get_by_text("The butler")
    expect(spoiler).not_to_be_visible()
    page.get_by_role("checkbox", name="Spoiler").press("Space")
    expect(spoiler).to_be_visible()
    page.goto(f"/books/{book.pk}/")
    page.get_by_role("table", name="Ratings").get_by_role("link", name="3 stars").press("Enter")
    expect(page).to_have_url(re.compile(r"/reviews/\?stars=3\.5$"))
    expect(page.get_by_text("A fine book. Spoiler hidden did it.")).to_be_visible()
    page.get_by_role("link", name="Edit", exact=True).press("Enter")
    expect(page.get_by_role("radio", name="3.5 stars")).to_be_checked()
    page.get_by_role("button", name="Save").press("Enter")
    page.get_by_role("link", name="Delete").press("Enter")
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_text("Your post was deleted.")).to_be_visible()
    assert not Review.objects.exists()


def test_five_whole_stars_stand_on_one_line_below_their_label(
    book: Book, open_page: OpenPage, live_server: LiveServer
) -> None:
    page = sign_in(open_page(), User.objects.create_user("rita"), live_server)
    for address in (f"/books/{book.pk}/review/", f"/books/{book.pk}/"):
        page.goto(address)
        for width, letters in ((1280, "100%"), (390, "100%"), (360, "100%"), (320, "200%")):
            page.evaluate("size => { document.documentElement.style.fontSize = size }", letters)
            resize(page, width)
            legend = page.locator(".star-choice legend").bounding_box()
            boxes = page.locator(".star-choice .icon").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect())"
            )
            halves = page.locator(".star-choice label").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect())"
            )
            assert legend
            assert {round(box["y"]) for box in boxes} == {round(boxes[0]["y"])}
            assert legend["y"] + legend["height"] <= boxes[0]["y"] + 1
            # The second half continues the first one: both draw one star at one place.
            assert all(abs(boxes[n]["x"] - boxes[n + 1]["x"]) < 0.5 for n in range(0, 10, 2))
            assert all(
                halves[n]["left"] <= boxes[n]["left"] and boxes[n]["right"] <= halves[n + 1]["right"]
                for n in range(0, 10, 2)
            )
            assert all(abs(box["height"] - box["width"]) < 0.5 for box in boxes)
            assert letters != "100%" or {round(box["width"]) for box in boxes} == {40}
        assert find_overflows(page, (320,)) == []
