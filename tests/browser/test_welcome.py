"""First steps and the front page that follows from them, by keyboard, on a phone and on a desktop."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Author, Book, Tag
from catalog.readings.services import Position, note_progress
from catalog.shelves.models import Shelf
from catalog.shelves.services import put_on_shelf, rate_book, set_goal
from shop.models import Recommendation
from social.services.posts import create_post
from tests.browser.conftest import Audit, OpenPage, find_overflows, resize, text_size
from tests.browser.test_loginlog import sign_in
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import catch_up, rebuild

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_new_reader_takes_the_steps_by_keyboard(open_page: OpenPage, audit: Audit, live_server: LiveServer) -> None:
    rita, fan = (User.objects.create_user(name) for name in ("rita", "fan"))
    books: list[Book] = [make_product(f"A rather long title of book {n}").book for n in range(12)]
    tag = Tag.objects.create(name="fantasy")
    tag.books.set(books)
    Recommendation.objects.create(product_id=books[0].pk, bought=[[books[11].pk, 9.0, 9]])
    today = timezone.localdate()
    rate_book(fan.pk, books[0].pk, 10, today)
    create_post(fan.pk, "A post by a fan")
    rebuild()
    page = sign_in(open_page(), rita, live_server)
    page.goto("/")
    page.get_by_role("link", name="Get started").press("Enter")
    assert audit(page) == []
    page.get_by_role("link", name="Start").press("Enter")
    page.get_by_label("fantasy").press("Space")
    assert audit(page) == []
    page.get_by_role("button", name="Save and continue").press("Enter")
    rating = page.get_by_role("group", name=f"Your rating of {books[0].title}", exact=True)
    rating.get_by_label("4.5 stars").press("Space")
    assert audit(page) == []
    page.get_by_role("button", name="Save and continue").press("Enter")
    page.get_by_role("button", name="Follow fan").press("Enter")
    expect(page.get_by_role("button", name="Unfollow fan")).to_be_visible()
    assert audit(page) == []
    page.get_by_role("link", name="Skip this step").press("Enter")
    expect(page.get_by_role("heading", name="Import your library")).to_be_visible()
    assert audit(page) == []
    put_on_shelf(rita.pk, books[1].pk, Shelf.READING, today)
    set_goal(rita.pk, today.year, 12)
    catch_up()
    page.get_by_role("link", name="Skip this step").press("Enter")
    for heading in ("Continue reading", "Reading goal", "Feed", "Because you read", "Most read"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert audit(page) == []
    page.get_by_role("link", name="Update progress").press("Enter")
    expect(page.get_by_label("I am at")).to_be_visible()


BOXES = """names => names.map(name => {
  const {top, left, right} = document.querySelector(name).getBoundingClientRect();
  return {top: top + scrollY, left, right};
})"""
CARDS = """cards => cards.map(card => {
  const [box, column] = [card, card.closest("section")].map(each => each.getBoundingClientRect());
  const cover = card.querySelector(".cover").getBoundingClientRect();
  const words = card.querySelector(".words").getBoundingClientRect();
  const size = [cover.width, cover.height, words.left > cover.right].map(Number);
  return [[box.left - column.left, column.right - box.right, box.top, box.height].map(Math.round), size];
})"""


def test_books_that_are_read_fill_their_column_and_next_volumes_stand_in_the_side_column(
    open_page: OpenPage, live_server: LiveServer
) -> None:
    rita, today = User.objects.create_user("rita"), timezone.localdate()
    titles = ("Now", "A Much Longer Title", "Third", "One (Tale, #1)", "Two (Tale, #2)")
    *reading, first, second = (make_product(title).book for title in titles)
    Author.objects.create(name="Ann Author").books.set([first, second])
    for book in reading:
        put_on_shelf(rita.pk, book.pk, Shelf.READING, today)
        note_progress(rita.pk, book.pk, Position(percent=40), "", today)
    put_on_shelf(rita.pk, first.pk, Shelf.READ, today)
    set_goal(rita.pk, today.year, 12)
    rebuild()
    page = sign_in(open_page(), rita, live_server)
    page.goto("/")
    cards = page.locator(".reading-now > li")
    for width, is_beside in ((1280, True), (390, False)):
        resize(page, width)
        places, sizes = zip(*cards.evaluate_all(CARDS), strict=True)
        assert set(map(tuple, sizes)) == {(72, 108, 1)}, width
        lefts, rights, tops, heights = zip(*places, strict=True)
        # On phones the other books are beside the first one as well, and a part of the second one shows it.
        assert (lefts[0], len(set(heights)), len(set(tops))) == (0, 1, 1), width
        assert rights[-1] == 0 if is_beside else rights[0] > 0 > rights[1], width
        books, goal, volumes = page.evaluate(BOXES, ["#continue-reading", "#goal", "#next-volumes"])
        assert goal["top"] < volumes["top"], width
        assert (volumes["left"] > books["right"]) == is_beside, width
        head, band = (page.locator(name).bounding_box() for name in (".head", ".band"))
        assert head
        assert band
        assert (band["y"], band["width"]) == (head["y"] + head["height"], 1136 if is_beside else 358), width
    assert find_overflows(page, [320, 390, 768, 1280, 1920]) == []
    with text_size(page, 200):
        assert find_overflows(page, [320, 1280]) == []
