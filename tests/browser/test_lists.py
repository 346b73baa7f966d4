"""Lists and imports, with JavaScript and without it."""

from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.library import tasks
from catalog.library.models import LibraryImport
from catalog.lists.models import ListedBook, ReadingList
from catalog.lists.services import ListDraft, add_book, create_list
from catalog.models import Book
from catalog.shelves.models import ShelfEntry
from mirror.relay.drains import drain_all
from tests.browser.conftest import PHONE, Audit, OpenPage
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


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_list_is_made_filled_ordered_and_deleted_by_keyboard(
    books: list[Book], open_page: OpenPage, audit: Audit, live_server: LiveServer, has_scripts: bool
) -> None:
    page = sign_in(
        open_page(java_script_enabled=has_scripts, viewport=PHONE), User.objects.create_user("rita"), live_server
    )
    page.goto("/books/")
    page.get_by_role("link", name="Lists (A fine book)").press("Enter")
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
    page.get_by_role("button", name="Up (Another book)").press("Enter")
    expect(shown.first).to_contain_text("Another book")
    page.get_by_label("New place of Another book").fill("2")
    page.get_by_role("button", name="Move (Another book)", exact=True).press("Enter")
    expect(shown.first).to_contain_text("A fine book")
    page.get_by_role("button", name="Remove (A fine book)").press("Enter")
    expect(shown).to_have_count(1)
    page.get_by_role("button", name="Undo").press("Enter")
    expect(shown.first).to_contain_text("A fine book")
    page.get_by_role("button", name="Remove (A fine book)").press("Enter")
    expect(shown).to_have_count(1)
    page.get_by_role("link", name="Change list").press("Enter")
    page.get_by_label("Visible to").select_option("me")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert list(ListedBook.objects.values_list("book", "reading_list__privacy")) == [(books[1].pk, "me")]
    page.get_by_role("link", name="Change list").press("Enter")
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


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_library_is_imported_and_the_import_undone(
    books: list[Book], open_page: OpenPage, live_server: LiveServer, tmp_path: Path, has_scripts: bool
) -> None:
    page = sign_in(open_page(java_script_enabled=has_scripts), User.objects.create_user("rita"), live_server)
    file = tmp_path / "isbns.txt"
    file.write_text("9780061120084\n9780439023481\n9780306406157\n")

    def work() -> None:
        tasks.run(LibraryImport.objects.get().pk)
        # With scripts the page reloads itself.
        if not has_scripts and page.get_by_role("link", name="Reload").count():
            page.get_by_role("link", name="Reload").click()

    page.goto("/shelves/want-to-read/")
    page.get_by_role("link", name="Import and export").press("Enter")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Find the books").press("Enter")
    expect(page.get_by_role("heading", name="Import from ISBN")).to_be_visible()
    work()
    expect(page.get_by_text("1 row without a book here")).to_be_visible()
    page.get_by_role("button", name="Import 2 books").press("Enter")
    expect(page.get_by_role("status")).to_be_visible()
    work()
    expect(page.get_by_text("2 rows imported")).to_be_visible()
    assert ShelfEntry.objects.filter(shelf="want-to-read").count() == 2
    page.get_by_role("button", name="Undo this import").press("Enter")
    expect(page.get_by_role("status")).to_be_visible()
    work()
    expect(page.get_by_role("button", name="Import 2 books")).to_be_visible()
    assert not ShelfEntry.objects.exists()
