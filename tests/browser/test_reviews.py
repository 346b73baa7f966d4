"""Reviews, with JavaScript and without it."""

import re
from datetime import date

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Book
from mirror.relay.drains import drain_all
from social.reviews.models import Review
from social.reviews.services import Draft, write_review
from social.services.posts import create_post, delete_post
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


def write(book: Book, name: str, text: str) -> Review:
    return write_review(User.objects.create_user(name).pk, book.pk, Draft(text, 8), date(2026, 3, 1))


@pytest.fixture
def reviews(book: Book) -> dict[str, Review]:
    """Write a review of a few lines, one that is hidden below four lines, and one of which pages have the beginning."""
    texts = {"short": "A fine book. " * 11, "tall": "- one\n" * 9 + "- **ten**", "long": "A fine book. " * 90 + "*End*"}
    written = {name: write(book, name, text) for name, text in texts.items()}
    rebuild()
    return written


def find_link(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=f"Read more by {name}")


def test_only_hidden_text_has_a_link(book: Book, reviews: dict[str, Review], person: Page) -> None:
    is_hidden = "part => part.scrollHeight > part.clientHeight + 1"
    for path in (f"/books/{book.pk}/", f"/books/{book.pk}/reviews/"):
        resize(person, 1280)
        person.goto(path)
        for width in (320, 390, 640, 1280, 390):
            resize(person, width)
            for name in ("tall", "long"):
                expect(find_link(person, name)).to_be_visible()
            part = person.locator(".post", has_text="short").locator(".post-part")
            expect(find_link(person, "short")).to_have_count(int(part.evaluate(is_hidden)))
        assert not part.evaluate(is_hidden)
        person.evaluate("document.documentElement.style.fontSize = '200%'")
        expect(find_link(person, "short")).to_be_visible()
        assert part.evaluate(is_hidden)


def test_a_review_opens_in_place(book: Book, reviews: dict[str, Review], person: Page) -> None:
    path = f"/books/{book.pk}/"
    person.goto(path)
    for name, mark, end in (("tall", "strong", "ten"), ("long", "em", "End")):
        find_link(person, name).press("Enter")
        expect(person.locator(f".review-text {mark}")).to_have_text(end)
        expect(find_link(person, name)).to_have_count(0)
        expect(person.locator(".review-text", has_text=end)).to_be_focused()
    expect(person).to_have_url(re.compile(f"{path}$"))
    # A review that is deleted meanwhile, with a reply: the browser shows its page.
    person.goto(path)
    create_post(reviews["long"].user_id, "Indeed", parent_id=reviews["tall"].pk)
    delete_post(reviews["tall"].pk, by=reviews["tall"].user_id)
    drain_all()
    find_link(person, "tall").click()
    expect(person).to_have_url(re.compile(rf"/posts/{reviews['tall'].pk}/$"))


def test_without_scripts_a_link_leads_to_the_review_and_back(
    book: Book, reviews: dict[str, Review], plain: Page
) -> None:
    resize(plain, 390)
    plain.goto(f"/books/{book.pk}/")
    expect(find_link(plain, "short")).to_be_visible()
    find_link(plain, "tall").click()
    expect(plain.get_by_role("strong")).to_have_text("ten")
    plain.locator("h1").get_by_role("link", name="A fine book").click()
    expect(plain).to_have_url(re.compile(f"/books/{book.pk}/$"))
