"""Imports: matches, what they change, repeated, killed and undone."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.core import serializers
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.library import selectors, services
from catalog.library.changes import RowSummary, summarize_row
from catalog.library.formats import read_table
from catalog.library.models import ImportRow, LibraryImport, State, Step
from catalog.library.selectors import find_rows, get_progress
from catalog.lists.models import ListedBook, ReadingList
from catalog.lists.services import ListDraft, create_list
from catalog.models import Book
from catalog.readings.statistics import load_readings
from catalog.shelves import services as shelves
from catalog.shelves.models import EarlierReading, Privacy, Shelf, ShelfEntry
from mirror.relay.drains import drain_all
from social.models import Post
from social.reviews.models import Review
from tests.catalog.library.test_formats import GOODREADS, LIBRARYTHING, STORYGRAPH
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

TODAY = date(2026, 5, 4)
TABLES = (ShelfEntry, EarlierReading, ReadingList, ListedBook, Review)
ROWS = '''\
1,Known by number,Nobody,,,"=""""","=""9780061120084""",4,,,,,,,2021/03/04,2020/01/02,"old, fun",,read,A book.,,,1,0
2,The Second Book (Series #2),Ann B. Lee,,,,,0,,,,,,,,2020/01/02,fun,,to-read,,,,0,0
3,the third book: a subtitle,A. Lee,,,,,3,,,,,,,2019,2018/01/02,,,read,,,,1,0
4,The Second Book,Someone Else,,,,,5,,,,,,,,2020/01/02,,,read,,,,1,0
5,Unknown everywhere,Nobody Known,,,,,5,,,,,,,,2020/01/02,lost,,read,,,,1,0
6,Of another edition,Nobody,,,,,2,,,,,,,2020/05/06,2020/01/02,,,read,Abandoned?,,,1,0
'''


@pytest.fixture
def reader() -> User:
    return User.objects.create(username="Rita")


@pytest.fixture
def books() -> list[Book]:
    made = [
        make_book("A title of ours", isbn="9780061120084", authors="Nobody"),
        make_book("The Second Book", authors="Ann Lee"),
        make_book("The Third Book", authors="Adele Lee"),
        make_book("An edition", goodreads_id=6),
    ]
    rebuild()
    drain_all()
    return made


def start(reader: User, rows: str = ROWS) -> LibraryImport:
    made = services.start_import(reader.pk, "export.csv", read_table((GOODREADS + rows).encode()))
    return run(made)


def run(made: LibraryImport) -> LibraryImport:
    services.run_import(made.pk)
    made.refresh_from_db()
    return made


def snapshot() -> list[str]:
    """Return all rows of shelves and lists, without the keys of those that may be made again."""
    return [serializers.serialize("json", table.objects.order_by("pk")) for table in TABLES]


def test_import_matches_applies_repeats_and_undoes(reader: User, books: list[Book]) -> None:
    first, second, third, edition = (book.pk for book in books)
    shelves.put_on_shelf(reader.pk, second, Shelf.READ, TODAY)
    shelves.rate_book(reader.pk, second, 7, TODAY)
    create_list(reader.pk, ListDraft("Fun"))
    before = snapshot()
    made = start(reader)
    assert made.state == State.READY
    steps = dict(made.rows.values_list("number", "step"))
    assert steps == {
        1: Step.FOUND, 2: Step.FOUND, 3: Step.FOUND, 4: Step.DOUBT, 5: Step.MISSING, 6: Step.FOUND,
    }  # fmt: skip
    assert list(made.rows.filter(step=Step.FOUND).order_by("number").values_list("book", flat=True)) == [
        first, second, third, edition,
    ]  # fmt: skip
    # The row with other authors has the book with its title as a candidate.
    assert made.rows.get(number=4).candidates == [second]
    assert snapshot() == before
    assert services.choose_book(reader.pk, made.pk, 4, second)
    assert not services.choose_book(reader.pk, made.pk, 4, None)
    assert services.confirm_import(reader.pk, made.pk)
    run(made)
    assert (made.state, made.rows.filter(step=Step.APPLIED).count()) == (State.DONE, 5)
    entry = ShelfEntry.objects.get(book=first)
    assert (entry.shelf, entry.stars, entry.shelved_on, entry.finished_on) == (
        Shelf.READ, 8, date(2020, 1, 2), date(2021, 3, 4),
    )  # fmt: skip
    # What the reader had before is kept.
    entry = ShelfEntry.objects.get(book=second)
    assert (entry.shelf, entry.stars, entry.shelved_on) == (Shelf.READ, 7, TODAY)
    entry = ShelfEntry.objects.get(book=third)
    assert (entry.finished_on, entry.finished_precision) == (date(2019, 12, 31), "year")
    named = {one.name: (one.privacy, one.books.count()) for one in ReadingList.objects.all()}
    assert named == {"Fun": (Privacy.PUBLIC, 2), "old": (Privacy.ME, 1)}
    written = Review.objects.exclude(text="").values_list("book", "text")
    assert dict(written) == {first: "A book.", edition: "Abandoned?"}
    # The rating that was given here has a post, imported ones have none.
    assert sorted(Post.objects.values_list("kind", "is_quiet")) == [
        ("rating", False),
        ("review", True),
        ("review", True),
    ]
    after = snapshot()
    again = start(reader)
    assert services.confirm_import(reader.pk, again.pk)
    assert run(again).state == State.DONE
    assert snapshot() == after
    # The second book was read here, and stays there.
    told = dict(again.rows.values_list("number", "changes"))
    assert told.pop(2) == {"left_out": ["shelf"]}
    assert set(map(str, told.values())) == {"{}"}
    assert services.undo_import(reader.pk, made.pk)
    assert run(made).state == State.UNDONE
    assert snapshot() == before


def test_the_present_day_of_an_import_is_that_of_its_reader(
    reader: User, books: list[Book], settings: Settings
) -> None:
    settings.CLOCK = lambda: datetime(2026, 12, 31, 20, tzinfo=UTC)
    User.objects.filter(pk=reader.pk).update(time_zone="Asia/Tokyo")
    made = start(reader, '1,Known by number,Nobody,,,"=""""","=""9780061120084""",4,,,,,,,2027/01/01,,,,read,,,,1,0\n')
    services.confirm_import(reader.pk, made.pk)
    run(made)
    entry = ShelfEntry.objects.get()
    assert (entry.shelved_on, entry.finished_on) == (date(2027, 1, 1), date(2027, 1, 1))


FILES_OF_OTHERS = {
    "The StoryGraph": STORYGRAPH
    + "A book,Nobody,,9780061120084,paperback,read,2020/01/08,2022/05/06,"
    + '"2020/01/02-2020/02/03, 2022/05/06",2,,,,,,,,4.25,Good,,,"one, two",Yes\n'
    + "The Third Book,Adele Lee,,,,did-not-finish,2020/01/08,,,0,,,,,,,,,,,,,No\n",
    "LibraryThing": LIBRARYTHING
    + "1\tA book\t1\tNobody\t\tx\t1960\tGood\t3.5\t\t\tBook\t\t2020-01-02\t2020-02-03\t"
    + "fun, old\tYour library\t[0061120081]\t9780061120084\t2019-12-31\n"
    + "2\tThe Third Book\t1\tLee, Adele\t\t\t\t\t\t\t\t\t\t\t\t\tWishlist\t[]\t\t[2019-12-31]\n",
}


@pytest.mark.parametrize("service", FILES_OF_OTHERS)
def test_files_of_other_services_change_nothing_again_and_are_undone(
    reader: User, books: list[Book], service: str
) -> None:
    before = snapshot()
    found = []
    for _ in range(2):
        table = read_table(FILES_OF_OTHERS[service].encode())
        made = run(services.start_import(reader.pk, "export", table))
        assert services.confirm_import(reader.pk, made.pk)
        assert run(made).state == State.DONE
        found.append((made, snapshot()))
    (first, after), (_again, later) = found
    assert set(ShelfEntry.objects.values_list("book", flat=True)) == {books[0].pk, books[2].pk}
    assert ListedBook.objects.count() == 2
    assert (before != after, later) == (True, after)
    assert services.undo_import(reader.pk, first.pk)
    assert run(first).state == State.UNDONE
    assert snapshot() == before


def test_undo_keeps_what_the_reader_changed_since(reader: User, books: list[Book]) -> None:
    made = start(reader)
    services.confirm_import(reader.pk, made.pk)
    run(made)
    shelves.rate_book(reader.pk, books[0].pk, 2, TODAY)
    services.undo_import(reader.pk, made.pk)
    run(made)
    kept = ShelfEntry.objects.get()
    assert (kept.book_id, kept.stars) == (books[0].pk, 2)
    assert not ReadingList.objects.exists()
    services.confirm_import(reader.pk, made.pk)
    run(made)
    assert ShelfEntry.objects.count() == 4
    assert ShelfEntry.objects.get(book=books[0]).stars == 2


class Case(NamedTuple):
    """A book here, a row of a file, and the book after the import.

    before, after: shelf, stars and end of the entry, and the ends of earlier readings. row: shelf, stars, end, and
    number of readings.
    """

    before: tuple[str, int | None, date | None, list[date | None]] | None
    row: tuple[str, int, str, int]
    after: tuple[str, int | None, date | None, list[date | None]]


D1, D2 = date(2019, 1, 2), date(2021, 3, 4)
CASES = (
    # A book that the reader wants to read moves on, and keeps what was entered here.
    Case(("want-to-read", None, None, []), ("read", 4, "2021/03/04", 1), ("read", 8, D2, [])),
    Case(("want-to-read", 3, D1, []), ("read", 4, "2021/03/04", 1), ("read", 3, D1, [D2])),
    Case(("want-to-read", None, None, []), ("currently-reading", 0, "", 1), ("reading", None, None, [])),
    Case(("want-to-read", None, None, []), ("dnf", 0, "", 0), ("did-not-finish", None, None, [])),
    Case(("want-to-read", None, None, []), ("to-read", 0, "2021/03/04", 1), ("want-to-read", None, None, [D2])),
    # It is to be read again, unless the file tells of a further reading.
    Case(("want-to-read", None, None, [D2]), ("read", 0, "2021/03/04", 1), ("want-to-read", None, None, [D2])),
    Case(("want-to-read", None, None, [None]), ("read", 0, "", 1), ("want-to-read", None, None, [None])),
    Case(("want-to-read", None, None, [D1]), ("read", 0, "2021/03/04", 2), ("read", None, D2, [D1])),
    # Other shelves stay.
    Case(("did-not-finish", None, None, []), ("read", 4, "2021/03/04", 1), ("did-not-finish", 8, None, [D2])),
    Case(("read", 2, D1, []), ("to-read", 4, "", 0), ("read", 2, D1, [])),
    # Readings without dates.
    Case(None, ("read", 0, "2021/03/04", 3), ("read", None, D2, [None, None])),
    Case(None, ("currently-reading", 0, "", 2), ("reading", None, None, [None])),
    Case(None, ("to-read", 0, "", 1), ("want-to-read", None, None, [None])),
    Case(("read", None, D1, [D2]), ("read", 0, "2021/03/04", 3), ("read", None, D1, [D2, None])),
    Case(("read", None, None, [D2]), ("read", 0, "2021/03/04", 2), ("read", None, None, [D2])),
)


def test_a_row_that_knows_more_wins_over_want_to_read(reader: User) -> None:
    lines = []
    for number, case in enumerate(CASES, start=1):
        book = make_book(goodreads_id=number)
        if case.before:
            shelf, stars, end, earlier = case.before
            ShelfEntry.objects.create(
                user=reader, book=book, shelf=shelf, stars=stars, finished_on=end, shelved_on=TODAY
            )
            for one in earlier:
                EarlierReading.objects.create(user=reader, book=book, finished_on=one)
        shelf, whole_stars, written, count = case.row
        lines.append(f"{number},T,,,,,,{whole_stars},,,,,,,{written},2020/01/02,,,{shelf},,,,{count},0\n")
    rebuild()
    before = snapshot()
    made = start(reader, "".join(lines))
    shown = {one.row.number: one.summary for one in find_rows(made, Step.FOUND).rows}
    assert snapshot() == before
    services.confirm_import(reader.pk, made.pk)
    run(made)
    for row, case in zip(made.rows.order_by("number"), CASES, strict=True):
        entry = ShelfEntry.objects.get(user=reader, book=row.book)
        readings = EarlierReading.objects.filter(book=row.book).order_by("pk").values_list("finished_on", flat=True)
        assert (entry.shelf, entry.stars, entry.finished_on, list(readings)) == case.after, (row.number, case)
        assert shown[row.number] == summarize_row(row), "the dry run shows what happened"
    after = snapshot()
    again = start(reader, "".join(lines))
    assert {one.summary and tuple(one.summary.labels) for one in find_rows(again, Step.FOUND).rows} == {()}
    services.confirm_import(reader.pk, again.pk)
    run(again)
    progress = get_progress(reader.pk, again.pk)
    assert progress
    assert (progress.imported, progress.unchanged) == (0, len(CASES))
    assert snapshot() == after
    # The reader has changed the date since, so the book stays on the shelf.
    ShelfEntry.objects.filter(book__goodreads_id=1).update(finished_on=D1)
    services.undo_import(reader.pk, made.pk)
    run(made)
    kept = ShelfEntry.objects.filter(book__goodreads_id=1)
    assert list(kept.values_list("shelf", "stars", "finished_on")) == [("read", None, D1)]
    kept.update(shelf=Shelf.WANT, finished_on=None)
    assert snapshot() == before


def test_a_reading_that_was_given_up_elsewhere_is_not_finished_here(reader: User) -> None:
    book = make_book("Emma", goodreads_id=1)
    shelves.put_on_shelf(reader.pk, book.pk, Shelf.READING, TODAY)
    rebuild()
    before = snapshot()
    for _ in range(2):
        made = start(reader, "1,Emma,,,,,,0,,,,,,,2021/03/04,2020/01/02,,,did-not-finish,,,,1,0\n")
        services.confirm_import(reader.pk, made.pk)
        run(made)
        assert EarlierReading.objects.values_list("finished_on", "is_finished").get() == (D2, False)
        assert load_readings(reader.pk, D2.year, tuple(Shelf)) == []
    first = LibraryImport.objects.earliest("pk")
    services.undo_import(reader.pk, first.pk)
    run(first)
    assert snapshot() == before


TWICE = """\
1,Emma,,,,,,4,,,,,,,2019/01/02,2018/01/02,one,,read,A good edition.,,,1,0
2,Emma (another edition),,,,,,5,,,,,,,2021/03/04,2020/01/02,two,,currently-reading,A better edition.,,,2,0
3,Emma (a third edition),,,,,,4,,,,,,,2019/01/02,2018/01/02,,,read,A good edition.,,,1,0
"""


@pytest.mark.parametrize("page_size", [20, 1])
def test_nothing_of_two_rows_for_one_book_is_lost_in_silence(
    reader: User, monkeypatch: pytest.MonkeyPatch, page_size: int
) -> None:
    """The dry run tells it for rows on different pages as well."""
    monkeypatch.setattr(selectors, "PAGE_SIZE", page_size)
    book = make_book("Emma", goodreads_id=1)
    rebuild()
    made = start(reader, TWICE)
    ImportRow.objects.update(book=book, step=Step.FOUND, candidates=[])
    shown: dict[int, RowSummary | None] = {}
    for after in range(3):
        shown |= {one.row.number: one.summary for one in find_rows(made, Step.FOUND, after).rows}
    first, second, third = (shown[number] for number in (1, 2, 3))
    assert first
    assert second
    assert third
    assert (first.left_out, third.left_out, third.labels) == ((), (), [])
    assert second.left_out_labels == ["another shelf", "other stars", "another review"]
    assert second.labels == ["1 earlier reading", "on 1 list"]
    services.confirm_import(reader.pk, made.pk)
    run(made)
    assert {row.number: summarize_row(row) for row in made.rows.all()} == shown
    entry = ShelfEntry.objects.get()
    assert (entry.shelf, entry.stars, entry.finished_on, entry.shelved_on) == ("read", 8, D1, date(2018, 1, 2))
    assert EarlierReading.objects.get().finished_on == D2
    assert Review.objects.get().text == "A good edition."
    progress = get_progress(reader.pk, made.pk)
    assert progress
    assert (progress.imported, progress.unchanged) == (2, 1)


def test_the_page_names_what_is_left_out(reader: User, client: Client) -> None:
    book = make_book("Emma", goodreads_id=1)
    ShelfEntry.objects.create(user=reader, book=book, shelf=Shelf.READ, stars=2, finished_on=D1, shelved_on=TODAY)
    rebuild()
    made = start(reader, f"1,Emma,,,,,,4,,,,,,,2019/01/02,,,,read,{'x' * 20_001},,,1,0\n")
    client.force_login(reader)
    page = client.get(f"/library/{made.pk}/").content.decode()
    text = "Nothing new. Left out, because what is here stays: other stars, a review that is too long"
    assert text in " ".join(page.split())


def test_killed_runs_go_on_where_they_were(reader: User, books: list[Book], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run ends in an error within the transaction of a chunk of two rows, after it has written."""
    monkeypatch.setattr(services, "CHUNK_SIZE", 2)
    real = ImportRow.objects.bulk_update
    calls = iter(range(1000))

    def fail_every_second_time(*arguments: Any, **options: Any) -> int:
        count = real(*arguments, **options)
        if next(calls) % 2:
            raise KeyboardInterrupt
        return count

    monkeypatch.setattr(ImportRow.objects, "bulk_update", fail_every_second_time)

    def run_until_done(made: LibraryImport) -> Iterator[None]:
        for _ in range(20):
            made.refresh_from_db()
            if not made.is_working:
                return
            try:
                services.run_import(made.pk)
            except KeyboardInterrupt:
                yield

    before = snapshot()
    made = services.start_import(reader.pk, "export.csv", read_table((GOODREADS + ROWS).encode()))
    kills = len(list(run_until_done(made)))
    services.confirm_import(reader.pk, made.pk)
    kills += len(list(run_until_done(made)))
    assert ShelfEntry.objects.count() == 4
    assert EarlierReading.objects.count() == 0
    services.undo_import(reader.pk, made.pk)
    kills += len(list(run_until_done(made)))
    assert kills >= 6
    assert (made.state, snapshot()) == (State.UNDONE, before)


def test_one_import_at_a_time(reader: User, books: list[Book]) -> None:
    table = read_table((GOODREADS + ROWS).encode())
    made = services.start_import(reader.pk, "a.csv", table)
    with pytest.raises(services.ImportIsOpen):
        services.start_import(reader.pk, "b.csv", table)
    # An upload whose process was killed is forgotten after a while.
    for age, is_refused in ((60, True), (3600, False)):
        LibraryImport.objects.update(state=State.LOADING, created_at=timezone.now() - timedelta(seconds=age))
        with pytest.raises(services.ImportIsOpen) if is_refused else nullcontext():
            made = services.start_import(reader.pk, "c.csv", table)
    other = User.objects.create(username="Otto")
    assert not services.discard_import(reader.pk, made.pk)
    run(made)
    for change in (services.confirm_import, services.undo_import, services.discard_import):
        assert not change(other.pk, made.pk)
    assert not services.choose_book(other.pk, made.pk, 4, None)
    assert not services.choose_book(reader.pk, made.pk, 4, books[0].pk)
    assert services.discard_import(reader.pk, made.pk)
    assert not LibraryImport.objects.exists()
