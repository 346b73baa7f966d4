"""Files of other services: encodings, delimiters, columns and the quirks of their cells."""

import json
from datetime import date

import pytest

from catalog.library.formats import FileRefused, ImportedBook, files, read_row, read_table
from catalog.library.formats.values import convert_review, parse_date, parse_ranges, parse_stars
from common.csv import escape_formula, unescape_formula, write_lines

GOODREADS = (
    "Book Id,Title,Author,Author l-f,Additional Authors,ISBN,ISBN13,My Rating,Average Rating,Publisher,Binding,"
    "Number of Pages,Year Published,Original Publication Year,Date Read,Date Added,Bookshelves,"
    "Bookshelves with positions,Exclusive Shelf,My Review,Spoiler,Private Notes,Read Count,Owned Copies\n"
)
STORYGRAPH = (
    "Title,Authors,Contributors,ISBN/UID,Format,Read Status,Date Added,Last Date Read,Dates Read,Read Count,Moods,Pace,"
    "Character- or Plot-Driven?,Strong Character Development?,Loveable Characters?,Diverse Characters?,"
    "Flawed Characters?,Star Rating,Review,Content Warnings,Content Warning Description,Tags,Owned?\n"
)
LIBRARYTHING = (
    "Book Id\tTitle\tSort Character\tPrimary Author\tSecondary Author\tPublication\tDate\tReview\tRating\tComment\t"
    "Private Comment\tMedia\tAcquired\tDate Started\tDate Read\tTags\tCollections\tISBN\tISBNs\tEntry Date\n"
)


def read(content: bytes) -> list[ImportedBook]:
    table = read_table(content)
    return [read_row(table.service, row) for row in table.rows]


def test_goodreads() -> None:
    rows = (
        '2657,"To Kill a ""Mockingbird"" (Scout, #1)",Harper Lee,"Lee, Harper",Some One,"=""0061120081""",'
        '"=""9780061120084""",4,4.2,x,y,1,2000,1960,2021/03/04,2020/01/02,"classics, to-read-next","classics (#3)",'
        'read,"Fine.<br/><br/>Really &amp; <b>truly</b>\nfine; see <a href=""https://a.example/"">this</a>.",,'
        '"a private note",2,1\n'
        '3,Unread,A. B.,"B., A.",,"=""""","=""""",0,4,,,,,,,2020/01/02,,,to-read,,,,0,0\n'
        "4,Given up,A. B.,,,,,0,4,,,,,,,2020/01/02,dnf,dnf (#1),dnf,It ends badly.,true,,0,0,,,\n"
        "\n"
        "5,Own shelf,A. B.,,,,,0,4,,,,,,2019,2020/01/02,,,favourites,,,,1\n"
    )
    one, two, three, four = read(("\ufeff" + GOODREADS + rows).encode())
    assert (one.title, one.authors) == ('To Kill a "Mockingbird" (Scout, #1)', ("Harper Lee", "Some One"))
    assert (one.isbns, one.goodreads_id) == (("9780061120084",), 2657)
    assert (one.shelf, one.stars, one.added_on) == ("read", 8, date(2020, 1, 2))
    assert [reading.end for reading in one.readings] == [(date(2021, 3, 4), False)]
    assert one.review == "Fine.\n\nReally & **truly**\nfine; see [this](https://a.example/)."
    assert one.lists == ("classics", "to-read-next")
    assert (two.shelf, two.stars, two.isbns, two.readings) == ("want-to-read", None, (), ())
    assert (three.shelf, three.review, three.lists) == ("did-not-finish", "||It ends badly.||", ())
    assert (four.shelf, four.lists) == ("read", ("favourites",))
    assert [reading.end for reading in four.readings] == [(date(2019, 12, 31), True)]


def test_storygraph() -> None:
    rows = (
        'A book,"Ann Lee, Bo Ray",,9780061120084,paperback,read,2020/01/08,2022/05/06,'
        '"2020/01/02-2020/02/03, 2022/05/06",2,"dark, sad",fast,,,,,,4.25,<div>Good</div>,,,"one, two",Yes\n'
        'No ISBN,Ann Lee,,abc-123,,did-not-finish,2020/01/08,"","",0,"",,,,,,,,,"",,"",No\n'
        'Now,Ann Lee,,,,currently-reading,2020/01/08,,"2024/01/02-",0,,,,,,,,0.25,,,,,No\n'
    )
    one, two, three = read((STORYGRAPH + rows).replace("\n", "\r\n").encode("utf-16"))
    assert (one.authors, one.stars, one.is_rounded) == (("Ann Lee", "Bo Ray"), 9, True)
    assert [(each.start and each.start.day, each.end and each.end.day) for each in one.readings] == [
        (None, date(2022, 5, 6)),
        (date(2020, 1, 2), date(2020, 2, 3)),
    ]
    assert (one.review, one.lists) == ("Good", ("one", "two"))
    assert (two.shelf, two.isbns) == ("did-not-finish", ())
    assert (three.shelf, three.stars, three.readings[0].start) == ("reading", 1, (date(2024, 1, 2), False))


def test_librarything() -> None:
    rows = (
        '1\tA 12" record\t1\tLee, Harper\tRay, Bo\tx\t1960\tCaf\xe9 "quoted\t3.5\t\t\tBook\t\t2020-01-02\t2020-02-03\t'
        "fun, old\tYour library, Favorites\t[0061120081]\t0061120081, 9780061120084\t2019-12-31\n"
        "2\tWanted\t1\tLee, Harper\t\t\t\t\t\t\t\t\t\t\t\t\tWishlist\t[]\t\t[2019-12-31]\n"
    )
    one, two = read((LIBRARYTHING + rows).encode("cp1252"))
    assert (one.title, one.authors[0], one.isbns) == ('A 12" record', "Harper Lee", ("9780061120084",))
    assert (one.shelf, one.stars, one.review) == ("read", 7, 'Café "quoted')
    assert one.readings[0] == ((date(2020, 1, 2), False), (date(2020, 2, 3), False), True, ())
    assert (one.lists, two.shelf, two.added_on) == (("fun", "old", "Favorites"), "want-to-read", date(2019, 12, 31))


def test_lists_of_isbns_and_spreadsheets() -> None:
    plain = read(b"0-06-112008-1\r\n9780061120084, 978-0-439-02348-1\n\n9780061120085\n")
    # A line with a wrong number is a row that no book has, so the reader learns of it.
    assert [one.isbns for one in plain] == [("9780061120084",), ("9780439023481",), ()]
    assert plain[-1].title == "9780061120085"
    assert {one.shelf for one in plain} == {"want-to-read"}
    (found,) = read(b'ISBN;Title;Author\n"=""0061120081""";T;A, B;;;\n')
    assert (found.isbns, found.title, found.authors) == (("9780061120084",), "T", ("A", "B"))


def test_files_that_spreadsheets_wrote() -> None:
    rows = "1,沙丘,弗兰克·赫伯特,,,,,5,4,,,,,,{},03/02/2019,,,read,好看,,,1,1\n"
    first, second = rows.format("13/05/2020"), rows.format("04/06/2020").replace("沙丘", "基地")
    # One row has the day first, so all have it. Excel in China writes GB 18030.
    one, two = read((GOODREADS + first + second).encode("gb18030"))
    assert (one.title, one.review, two.title) == ("沙丘", "好看", "基地")
    assert [book.readings[0].end for book in (one, two)] == [(date(2020, 5, 13), False), (date(2020, 6, 4), False)]
    assert (one.added_on, two.added_on) == (date(2019, 2, 3), date(2019, 2, 3))
    # Years may have two digits.
    short = (GOODREADS + first + second).replace("/2020", "/20").replace("/2019", "/19")
    assert [(book.readings, book.added_on) for book in read(short.encode())] == [
        (book.readings, book.added_on) for book in (one, two)
    ]
    # No row tells, so the month is first.
    (one,) = read((GOODREADS + second).encode())
    assert (one.readings[0].end, one.added_on) == ((date(2020, 4, 6), False), date(2019, 3, 2))
    text = "sep=;\r\n\r\n" + (GOODREADS + first).replace(",", ";")
    (one,) = read(text.encode())
    assert (one.shelf, one.stars) == ("read", 10)
    header, rows = (GOODREADS + first).split("\n", 1)
    (one,) = read(f"{header.lower()}\n{rows}".encode())
    assert (one.shelf, one.stars) == ("read", 10)


def test_refused_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 2)
    monkeypatch.setattr(files, "MAX_CELL_LENGTH", 50)
    for content in (
        b"",
        b"  \n",
        b"PK\x03\x04 zip",
        b"a,b\n1,2\n",
        b"ISBN\n",
        b"ISBN\n1\n2\n3\n",
        b"ISBN\n" + b"x" * 99,
    ):
        with pytest.raises(FileRefused):
            read_table(content)


def test_json_that_is_no_export_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no list of ISBNs either."""
    book = b'{"title":"x","authors":[],"isbn":"","shelf":"read","rating":null,"shelved_on":null,"review":"","lists":[]'
    for content in (
        b'{"version": 1,\n"books": [\n{"id":5,"isbn":"9780306406157"}\n]}\n',
        b' [{"isbn":"9780306406157"}]',
        b'{"books": "9780306406157"}',
        b'{"books": {"a": 1}}',
        b'{"books": [1]}',
        b'{"books": [' + book + b', "readings": [5]}]}',
        b'{"books": [' + book + b', "readings": "ab"}]}',
        b'{"shelves": [{"book_id": 1, "book__title": "of the download of all data"}]}',
        b'{"books": [' + book + b', "readings": []}], "lists": [5]}',
        b'{"books": [' + book + b', "readings": []}], "shelves": "ab"}',
        b"[" * 100_000,
        b"{",
    ):
        with pytest.raises(FileRefused, match="no library"):
            read_table(content)
    with pytest.raises(FileRefused, match="is empty"):
        read_table(b'{"books": []}')
    [row] = read(b'{"books": [' + book.replace(b"x", b"\\u0000x") + b', "readings": []}]}')
    assert (row.title, row.shelf, row.times_read) == ("x", "read", 1)
    monkeypatch.setattr(files, "MAX_ROWS", 1)
    with pytest.raises(FileRefused, match="more than"):
        read_table(b'{"books": [' + b", ".join([book + b', "readings": []}'] * 2) + b"]}")


def test_an_edited_export_cannot_bring_what_no_form_accepts() -> None:
    """Unknown shelves, and names with line ends, NUL or invisible characters, which PostgreSQL or pages cannot take."""
    export = {
        "shelves": [{"name": "read", "privacy": "me"}, {"name": "re\0ad", "privacy": "me"}],
        "lists": [{"name": "a\u202eb\0\nc", "description": "x\0\u200b\ny", "privacy": "public", "order": "hand"}],
        "books": [
            {"title": "x", "authors": [], "isbn": "", "shelf": "read", "rating": None, "shelved_on": None}
            | {"review": "", "lists": [], "readings": []}
        ],
    }
    details = read_table(json.dumps(export).encode()).details
    assert details["shelves"] == {"read": "me"}
    assert [(name, one["name"], one["description"]) for name, one in details["lists"].items()] == [
        ("ab c", "ab c", "x\ny")
    ]


NOTE = {"noted_on": "2020-01-02", "page": 3, "percent": None, "note": ""}


def read_exported(**fields: object) -> ImportedBook:
    """Return what an export tells of a book with these fields."""
    book: dict[str, object] = {
        "title": "x",
        "authors": [],
        "isbn": "",
        "shelf": "reading",
        "rating": None,
        "shelved_on": None,
    }
    book |= {"review": "", "lists": [], "readings": []}
    (found,) = read(json.dumps({"books": [book | fields]}).encode())
    return found


@pytest.mark.parametrize(
    "changed",
    [
        {"noted_on": "9020-01-02"},
        {"percent": 4},
        {"page": None},
        {"page": -1},
        {"page": 10**9},
        {"page": "3"},
        {"page": None, "percent": 101},
    ],
)
def test_a_note_of_progress_that_no_form_accepts_is_left_out(changed: dict[str, object]) -> None:
    notes = [NOTE | changed, NOTE | {"note": "a\0b\u202e" + "c" * 300}]
    reading = {"state": "reading", "started_on": "2020-01-01", "finished_on": None, "progress": notes}
    (found,) = read_exported(readings=[reading]).readings
    assert found.start is not None
    assert [(one.page, one.note) for one in found.progress] == [(3, "ab" + "c" * 278)]


@pytest.mark.parametrize("pages", [0, -1, 10**9, "3", 2.5, None])
def test_pages_that_no_form_accepts_are_left_out(pages: object) -> None:
    assert read_exported(pages=pages).details.pages is None
    assert read_exported(pages=321).details.pages == 321


@pytest.mark.parametrize(
    "text",
    [
        "=SUM(1)",
        "- one\n- two; - three",
        "@ann said",
        "+1;=2",
        "'quoted'",
        "a - b",
        '"=x"',
        "＝和\n-1\n'tis",
        "a\n\n=b",
        'a;\r\n"\n+b',
    ],
)
def test_an_own_export_comes_back_without_its_guards(text: str) -> None:
    columns = GOODREADS.strip().split(",")
    given = {"Title": text, "Exclusive Shelf": "read", "My Review": text}
    [row] = read_table("".join(write_lines(columns, [[given.get(name, "") for name in columns]])).encode()).rows
    assert (row["Title"], row["My Review"]) == (text, text)


def test_a_refusal_names_the_damaged_line() -> None:
    good = '1,One,,,,,,,,,,,,,,2020/01/02,,,read,"A review\nof two lines",,,1,0\n'
    read(f'{GOODREADS}{good}2,"Two" and a half,{"," * 16}read,,,,1,0\n'.encode())
    for bad in (
        '2,"Without an end,x\n3,Three\n',
        '2,"Ended in the next line,x\n3,"Three",x\n',
        '2,"Ended" by no comma,x,"y\n3,Three\n',
        f"2,{'x' * 200_000}\n",
    ):
        with pytest.raises(FileRefused, match=r"^Line 4 "):
            read_table((GOODREADS + good + bad).encode())


def test_what_a_row_tells_of_shelves_and_readings() -> None:
    cells = ",,,,,0,,,,,,,{finished},2020/01/02,{tags},,{shelf},,,,{count},0\n"
    told = []
    for finished, tags, shelf, count in (
        ("2021/03/04", "", "read", "3"),
        ("", "", "currently-reading", "1"),
        ("", "", "on-hold", "1"),
        ("", "", "to-read", "9999"),
        ("", "fun", "", "0"),
        ("", "fun", "", "1"),
        ("", "", "", ""),
    ):
        (one,) = read(
            (GOODREADS + "1,T," + cells.format(finished=finished, tags=tags, shelf=shelf, count=count)).encode()
        )
        told.append((one.shelf, one.is_paused, one.times_read, len(one.readings)))
    assert told == [
        ("read", False, 3, 1),
        ("reading", False, 1, 0),
        ("reading", True, 1, 0),
        ("want-to-read", False, 50, 0),
        ("", False, 0, 0),
        ("read", False, 1, 0),
        ("want-to-read", False, 0, 0),
    ]
    (paused,) = read((STORYGRAPH + "T,A,,,,paused,,,,1,,,,,,,,,,,,,\n").encode())
    assert (paused.shelf, paused.is_paused, paused.lists) == ("reading", True, ())


def test_cells() -> None:
    days = {
        "2021/03/04": date(2021, 3, 4), "2021-3-4": date(2021, 3, 4), "[2016-05-08]": date(2016, 5, 8),
        "04.03.2021": date(2021, 3, 4), "4-3-2021": date(2021, 3, 4), "3/14/2021": date(2021, 3, 14),
        "3/14/21": date(2021, 3, 14), "12/31/99": date(1999, 12, 31), "04.03.21": date(2021, 3, 4),
        "31.12.99": date(1999, 12, 31), "4-3-21": None, "Mar 4, 2021": date(2021, 3, 4),
        "4 March 2021": date(2021, 3, 4), "2021": date(2021, 12, 31),
        "2021-05": date(2021, 12, 31), "May 2021": date(2021, 12, 31), "2021/02/30": None, "0021": None, "soon": None,
    }  # fmt: skip
    assert {text: (found := parse_date(text)) and found.day for text in days} == days
    assert [text for text in days if (found := parse_date(text)) and found.is_year] == ["2021", "2021-05", "May 2021"]
    assert parse_ranges("2020-01-02, nonsense") == [(None, (date(2020, 1, 2), False))]
    stars = {"": None, "0": None, "5.0": 10, "4.75": 10, "0.1": 1, "6": None, "nan": None, "x": None, "3,5": 7}
    assert {text: parse_stars(text)[0] for text in stars} == stars
    assert convert_review("<script>x</script>a <spoiler>b</spoiler> &lt;c&gt; 1 < 2") == "xa ||b|| <c> 1 < 2"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<b>Plot: </b>good, <i>“Ha!”</i> fine", "**Plot**: good, “*Ha*!” fine"),
        ("<b>注意：</b>好看", "**注意**：好看"),
        ("<b>a <i>b</i></b> <i> c</i><b>!</b>", "**a *b***  *c*!"),
        ("<b>a<br/><br/>b</b>", "**a**\n\n**b**"),
        ("a<blockquote>b<br />c</blockquote>d", "a\n> b\n> c\n\nd"),
        ("<div>a</div><div>b</div><ul><li>c</li><li>d</li></ul>e", "a\nb\n\n\n- c\n- d\n\ne"),
        ('<a target="_blank" href="https://a.example/">b</a> <a>c</a>', "[b](https://a.example/) c"),
    ],
)
def test_html_of_a_review_becomes_markdown(written: str, expected: str) -> None:
    assert convert_review(written) == expected


@pytest.mark.parametrize("part", ["<a href=x>", "<a ", "<b>", "<b ", "<li", "</p> ", "<a href=", " href="])
def test_the_time_of_a_review_is_linear(part: str) -> None:
    # Quadratic time would be minutes, and the time limit of a test ends it.
    convert_review("<a " + part * 300_000)


@pytest.mark.parametrize("part", ["\n", '"\n', "; ", ";\n"])
def test_the_time_of_an_export_is_linear(part: str) -> None:
    text = "a" + part * 300_000 + "b"
    is_same = unescape_formula(str(escape_formula(text))) == text
    assert is_same
