"""Lists and imports, with JavaScript and without it."""

from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from django.conf import settings
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.library import tasks
from catalog.library.models import LibraryImport, State, Step
from catalog.lists.models import ListedBook, ReadingList
from catalog.lists.services import ListDraft, add_book, create_list
from catalog.models import Book
from catalog.shelves.models import Shelf, ShelfEntry
from mirror.relay.drains import drain_all
from tests.browser.conftest import PHONE, Audit, Look, OpenPage
from tests.browser.test_loginlog import sign_in
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def books(transactional_db: None) -> list[Book]:
    made = [
        Book.objects.create(title="A fine book", isbn="9780061120084", popularity=7),
        Book.objects.create(title="Another book", isbn="9780439023481", popularity=3),
    ]
    rebuild()
    drain_all()
    return made


def test_the_form_of_a_new_list_opens_over_the_lists(
    transactional_db: None, open_page: OpenPage, audit: Audit, live_server: LiveServer
) -> None:
    page = sign_in(open_page(viewport=PHONE), User.objects.create_user("rita"), live_server)
    page.goto("/lists/")
    expect(page.get_by_label("Name")).to_be_hidden()
    page.locator("summary", has_text="New list").press("Enter")
    assert audit(page) == []
    page.get_by_label("Name").fill("Winter")
    page.get_by_role("button", name="Create list").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Winter")


def test_covers_of_a_list_are_side_by_side_and_fill_its_card(
    books: list[Book], open_page: OpenPage, live_server: LiveServer
) -> None:
    rita = User.objects.create_user("rita")
    made = create_list(rita.pk, ListDraft("Winter"))
    books += [Book.objects.create(title=f"Book {n}") for n in range(3)]
    for book in books:
        add_book(rita.pk, made.pk, book.pk, timezone.localdate())
    rebuild()
    drain_all()
    page = sign_in(open_page(viewport={"width": 1280, "height": 900}), rita, live_server)
    page.goto("/lists/")
    title = page.locator(".lists h2").bounding_box()
    boxes = [each.bounding_box() for each in page.locator(".list-covers .cover").all()]
    places = [(box["x"], box["x"] + box["width"]) for box in boxes if box]
    assert len(places) == 4
    assert all(end < start for (_, end), (start, _) in pairwise(places))
    assert title
    assert (round(places[0][0]), round(places[-1][1])) == (title["x"], title["x"] + title["width"])


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_list_is_made_filled_ordered_and_deleted_by_keyboard(
    books: list[Book], open_page: OpenPage, audit: Audit, live_server: LiveServer, has_scripts: bool
) -> None:
    page = sign_in(
        open_page(java_script_enabled=has_scripts, viewport=PHONE), User.objects.create_user("rita"), live_server
    )
    page.goto(f"/books/{books[0].pk}/")
    page.get_by_role("link", name="Add to a list").press("Enter")
    page.get_by_label("New list").fill("Winter")
    page.get_by_role("button", name="Create list").press("Enter")
    expect(page.get_by_role("button", name="Winter", pressed=True)).to_be_visible()
    page.goto(f"/books/{books[1].pk}/")
    page.get_by_role("link", name="Add to a list").press("Enter")
    page.get_by_role("button", name="Winter", pressed=False).press("Enter")
    expect(page.get_by_role("button", name="Winter", pressed=True)).to_be_visible()
    page.goto("/lists/")
    page.get_by_role("link", name="Winter").press("Enter")
    shown = page.get_by_role("main").get_by_role("listitem")
    expect(shown.first).to_contain_text("A fine book")

    def open_menu(title: str) -> None:
        page.get_by_role("button", name=f"More about {title}").press("Enter")
        assert not has_scripts or audit(page) == []

    open_menu("Another book")
    page.get_by_role("button", name="Up (Another book)").press("Enter")
    expect(shown.first).to_contain_text("Another book")
    open_menu("Another book")
    if has_scripts:
        page.get_by_role("button", name="Down (Another book)").press("Enter")
    else:
        page.get_by_label("New place of Another book").fill("2")
        page.get_by_role("button", name="Move (Another book)", exact=True).press("Enter")
    expect(shown.first).to_contain_text("A fine book")
    open_menu("A fine book")
    page.get_by_role("button", name="Remove (A fine book)").press("Enter")
    expect(shown).to_have_count(1)
    page.get_by_role("button", name="Undo").press("Enter")
    expect(shown.first).to_contain_text("A fine book")
    open_menu("A fine book")
    page.get_by_role("button", name="Remove (A fine book)").press("Enter")
    expect(shown).to_have_count(1)
    page.get_by_role("link", name="Edit list").press("Enter")
    page.get_by_label("Visible to").select_option("me")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert list(ListedBook.objects.values_list("book", "reading_list__privacy")) == [(books[1].pk, "me")]
    page.get_by_role("link", name="Edit list").press("Enter")
    page.get_by_role("link", name="Delete list").press("Enter")
    page.get_by_role("button", name="Delete list").press("Enter")
    expect(page.get_by_text("The list “Winter” is deleted.")).to_be_visible()
    assert not ReadingList.objects.exists()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_role("heading", name="Winter")).to_be_visible()
    page.goto(f"/books/{books[1].pk}/")
    page.get_by_role("link", name="Add to a list").press("Enter")
    page.get_by_role("button", name="Winter", pressed=True).press("Enter")
    if has_scripts:
        expect(page.get_by_role("button", name="Winter", pressed=False)).to_be_focused()
        page.get_by_role("button", name="Undo").press("Enter")
        expect(page.get_by_role("status").get_by_text("Undone.")).to_be_visible()
        expect(page.locator(".list-changed")).to_be_focused()
        assert audit(page) == []


@pytest.mark.parametrize("way", ["mouse", "finger"])
def test_books_of_a_list_are_dragged(
    books: list[Book], open_page: OpenPage, audit: Audit, live_server: LiveServer, way: str
) -> None:
    rita = User.objects.create_user("rita")
    made = create_list(rita.pk, ListDraft("Winter"))
    for book in books:
        add_book(rita.pk, made.pk, book.pk, timezone.localdate())
    rebuild()
    options = {"viewport": PHONE, "has_touch": True} if way == "finger" else {}
    page = sign_in(open_page(**options), rita, live_server)
    page.goto(f"/lists/{made.pk}/")
    assert audit(page) == []
    handles, shown = page.locator(".drag-handle"), page.get_by_role("main").get_by_role("listitem")
    handles.nth(1).scroll_into_view_if_needed()
    start, goal = handles.nth(0).bounding_box(), handles.nth(1).bounding_box()
    assert start
    assert goal
    points = [(start["x"] + 10, start["y"] + 10 + (goal["y"] + 60 - start["y"]) * part / 4) for part in range(5)]
    session = page.context.new_cdp_session(page)
    for number, (x, y) in enumerate(points):
        if way == "mouse":
            page.mouse.move(x, y)
            if number == 0:
                page.mouse.down()
        else:
            kind = "touchMove" if number else "touchStart"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    expect(shown.first).to_contain_text("Another book")
    assert not ListedBook.objects.filter(position__gt=2 << 16).exists()  # until the book is dropped
    with page.expect_navigation():
        if way == "mouse":
            page.mouse.up()
        else:
            session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(shown.first).to_contain_text("1. Another book")
    order = ListedBook.objects.order_by("position").values_list("book_id", flat=True)
    assert list(order) == [books[1].pk, books[0].pk]


# The first row has the ISBN of a book that the reader wants to read, the second one another author than its book.
LIBRARY = """\
Book Id,Title,Author,ISBN13,My Rating,Date Read,Bookshelves,Exclusive Shelf,Read Count
,One,A. Writer,9780061120084,4,2021/03/04,,read,2
,Another book,Someone Else,,0,,,currently-reading,1
,Unknown,A. Writer,,0,,,to-read,0
"""


@pytest.mark.parametrize(("language", "has_scripts"), [("en", True), ("zh-hans", True), ("en", False)])
def test_a_library_is_imported_and_the_import_undone(
    books: list[Book],
    open_page: OpenPage,
    audit: Audit,
    live_server: LiveServer,
    tmp_path: Path,
    language: str,
    has_scripts: bool,
) -> None:
    """By keyboard: in English on a desktop with and without JavaScript, in Chinese on a phone."""
    reader = User.objects.create_user("rita")
    ShelfEntry.objects.create(user=reader, book=books[0], shelf="want-to-read", shelved_on=date(2020, 1, 2))
    before = list(ShelfEntry.objects.values())
    options: dict[str, Any] = {"viewport": PHONE} if language == "zh-hans" else {}
    page = sign_in(open_page(java_script_enabled=has_scripts, **options), reader, live_server)
    page.context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": live_server.url}])
    looks: tuple[Look, ...] = ((390, "dark"),) if options else ((1280, "light"),)
    file = tmp_path / "export.csv"
    file.write_text(LIBRARY)

    def press(role: Literal["button", "link"], name: str) -> None:
        page.get_by_role(role, name=name).first.press("Enter")

    def work() -> None:
        tasks.run(LibraryImport.objects.get().pk)
        # With scripts the page reloads itself.
        if not has_scripts:
            press("link", _("Reload"))

    def check(*texts: str) -> None:
        for text in texts:
            expect(page.get_by_text(text).first).to_be_visible()
        # axe needs timers.
        assert not has_scripts or audit(page, looks) == []

    with translation.override(language):
        names = {"want": Shelf.WANT.label, "shelf": Shelf.READ.label}
        moved = _("from “%(want)s” to “%(shelf)s”") % names
        page.goto("/shelves/want-to-read/")
        page.locator(".arrange > summary").press("Enter")
        page.locator("summary", has_text=_("Goal and privacy")).press("Enter")
        press("link", _("Import and export"))
        page.locator("#file").set_input_files(file)
        press("button", _("Preview import"))
        expect(page.get_by_role("heading", level=1)).to_have_text(
            _("Import from %(service)s") % {"service": "Goodreads"}
        )
        work()
        press("button", "Another book")
        check(moved, ngettext("%(n)s row without a book here", "%(n)s rows without a book here", 1) % {"n": 1})
        press("button", ngettext("Import %(n)s book", "Import %(n)s books", 2) % {"n": 2})
        expect(page.get_by_role("status")).to_be_visible()
        work()
        check(ngettext("%(n)s row imported", "%(n)s rows imported", 2) % {"n": 2})
        press("link", Step.APPLIED.label.capitalize())
        check(moved)
        shelves = ShelfEntry.objects.order_by("book").values_list("shelf", flat=True)
        assert list(shelves) == ["read", "reading"]
        press("button", _("Undo this import"))
        expect(page.get_by_role("status")).to_be_visible()
        work()
        expect(page.get_by_role("button", name=_("Undo this import"))).to_have_count(0)
        check(State.UNDONE.label.capitalize())
    assert list(ShelfEntry.objects.values()) == before
