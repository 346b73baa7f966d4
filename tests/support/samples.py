"""Generate small samples in the formats of the real data: ``python -m tests.support.samples`` rewrites them.

A seeded generator invents all names, titles, tags, readers and messages. The samples have the shape of the real files:
few tags are on most books and most tags are on one or two, readers keep to series and genres, few people write most of
the messages, and a third of them never writes. The samples also have the flaws of the real files: odd tags, tags in
many scripts and in mixed case, titles with quotes and commas, missing years and titles, years below zero, ISBNs that
lost digits, and ties in every column.
"""

import csv
import io
import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import accumulate, count
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "samples"
GOODBOOKS: Final = FOLDER / "goodbooks"
COLLEGEMSG: Final = FOLDER / "collegemsg" / "CollegeMsg.txt"

BOOKS: Final = 480
TAGGED: Final = 200  # books with rows in book_tags.csv
TAGS_OF_A_BOOK: Final = 36
RATED: Final = 60  # only the first books have rows in ratings.csv
READERS: Final = 900
PEOPLE, MESSAGES = 160, 3000
FIRST: Final = int(datetime(2004, 4, 15, 14, 0, tzinfo=UTC).timestamp())
LAST: Final = int(datetime(2004, 10, 26, 7, 0, tzinfo=UTC).timestamp())

COLUMNS: Final = (
    "book_id", "goodreads_book_id", "best_book_id", "work_id", "books_count", "isbn", "isbn13", "authors",
    "original_publication_year", "original_title", "title", "language_code", "average_rating", "ratings_count",
    "work_ratings_count", "work_text_reviews_count", "ratings_1", "ratings_2", "ratings_3", "ratings_4", "ratings_5",
)  # fmt: skip
GENRES: Final = (
    "fantasy", "young-adult", "classics", "20th-century", "romance", "history", "poetry", "science-fiction", "travel",
)  # fmt: skip
# The first tags are on nearly every book, the last ones on every third.
COMMON: Final = (
    "to-read", "favorites", "owned", "shelf", "library", "fiction", "to-buy", "ebook", "default", "wish-list",
    "my-books", "audio", "adult", "contemporary", "novels", "book-club", "re-read", "borrowed", "gifts", "unfinished",
)  # fmt: skip
ODD: Final = (
    "-", "--7-", "--88-", "-quiet-", "0", "00-shelf-00", "Fantasy", "FANTASY", "ｆａｎｔａｓｙ", "Classics", "HISTORY",
    "poésie", "été-à-lire", "武侠", "小说-一", "поэзия", "книги-на-лето", "شعر", "روايات-جديدة", "ποίηση", "詩",
    "Straße",
)  # fmt: skip
ADJECTIVES: Final = (
    "amber", "borrowed", "broken", "copper", "crooked", "distant", "drifting", "eleventh", "empty", "gentle", "hollow",
    "last", "marble", "midnight", "narrow", "northern", "paper", "patient", "quiet", "salted", "second", "silver",
    "sleeping", "tidal", "unlit", "velvet", "wandering", "winter",
)  # fmt: skip
NOUNS: Final = (
    "almanac", "anchor", "archive", "bridge", "cartographer", "chimney", "clockmaker", "comet", "ferry", "garden",
    "glacier", "harbour", "heron", "island", "kettle", "lantern", "ledger", "lighthouse", "moth", "orchard", "parade",
    "quarry", "sparrow", "station", "thimble", "tollgate", "violin", "weather",
)  # fmt: skip
FOREIGN: Final = (
    ("山の灯台", "jpn"), ("雨夜书店", "chi"), ("منارة الملح", "ara"), ("حديقة الورق", "ara"), ("Тихая гавань", "rus"),
    ("Το νησί του χειμώνα", "gre"), ("Der gläserne Zug", "ger"), ("L’été des hérons", "fre"),
    ("El reloj de arena azul", "spa"), ("Cây cầu giấy", "vie"), ("शांत द्वीप", "hin"), ("e\u0301cume", "fre"),
)  # fmt: skip
FORENAMES: Final = (
    "Ada", "Bela", "Chidi", "Dorte", "Émile", "Femi", "Greta", "Hana", "Ilse", "J.T.", "Kofi", "Łucja", "Mireille",
    "Noor", "Oskar", "Priya", "Quirin", "Rosa", "Søren", "Tomoko", "Umar", "Vera", "Wim", "Yusra", "Zdeněk",
)  # fmt: skip
SURNAMES: Final = (
    "Abbot", "Brandt", "Castellan", "Dvořák-Hill", "Eastwick", "Fjeld", "Grünwald", "Hartog", "Ibarra", "Juhász",
    "Kestrel", "Lindqvist", "Mbeki-Ross", "Nakatani", "O'Dell", "Pelletier", "Quade", "Rasmussen", "Sørby", "Thackley",
    "Ueda", "Vance Jr.", "Winterbourne", "Yilmaz", "Zamora",
)  # fmt: skip
# (name, volumes, number of followers); all volumes are books with ratings.
SERIES: Final = (
    ("The Moth Gate", (2, 5, 9), 260),
    ("Salt & Ember", (4, 12), 180),
    ("Tollgate Street", (17, 30, 31, 44), 120),
    ("Letters from Nowhere", (38, 52), 34),
)
BESTSELLERS: Final = (1, 3, 6, 7, 8)  # rated by nearly all followers of the last series


def write(folder: Path) -> None:
    """Write all files to ``folder``, under the same names as in ``tests/samples``."""
    for name, content in contents().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())


def contents() -> dict[str, str]:
    """Return the text of each file by its path relative to ``tests/samples``."""
    chance = random.Random(10_000)
    books = _books(chance)
    tags = _tags(chance)
    return {
        "goodbooks/books.csv": _csv(COLUMNS, books),
        "goodbooks/tags.csv": _csv(("tag_id", "tag_name"), sorted((number, name) for name, number in tags.items())),
        "goodbooks/book_tags.csv": _csv(("goodreads_book_id", "tag_id", "count"), _taggings(chance, books, tags)),
        "goodbooks/ratings.csv": _csv(("user_id", "book_id", "rating"), _ratings(chance)),
        "goodbooks/to_read.csv": _csv(("user_id", "book_id"), _wishes(chance)),
        "collegemsg/CollegeMsg.txt": "".join(f"{a} {b} {at}\n" for a, b, at in _messages(chance)),
    }


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def _skewed(chance: random.Random, size: int) -> int:
    """Return a random number below ``size``; small numbers are much more frequent."""
    draw = chance.random()
    return int(size * draw * draw * draw)


def _books(chance: random.Random) -> list[list[object]]:
    """Return the rows of books.csv, bestsellers first as in the real file."""
    # The ranges of book_id and goodreads_book_id overlap, so that an importer that confuses them finds wrong books.
    goodreads = chance.sample(range(1, 4 * BOOKS), BOOKS)
    volumes = {book: (name, n) for name, books, _ in SERIES for n, book in enumerate(books, 1)}
    foreign = dict(zip(chance.sample(range(RATED + 1, BOOKS + 1), len(FOREIGN)), FOREIGN, strict=True))
    authors = [f"{first} {last}" for first in FORENAMES for last in SURNAMES]
    chance.shuffle(authors)
    titles = [f"The {adjective.title()} {noun.title()}" for adjective in ADJECTIVES for noun in NOUNS]
    chance.shuffle(titles)
    sold, rows = 4_000_000, []
    for book in range(1, BOOKS + 1):
        sold -= sold // chance.randrange(20, 80) if chance.random() < 0.8 else 0  # some books have equal sales
        title, language = titles[book], chance.choices(("eng", "en-US", "", "en-GB"), (63, 21, 11, 5))[0]
        original = title if chance.random() < 0.9 else ""
        if book in volumes:
            name, number = volumes[book]
            title = f"{title} ({name}, #{number})"
        elif book in foreign:
            title, language = original, _ = foreign[book]
        elif book % 61 == 0:
            title = f'{title}, or "The {chance.choice(NOUNS).title()}"'
        elif book % 97 == 0:
            title, original = "", title
        isbn, isbn13 = _isbn(chance)
        rated = [sold * share // 100 for share in (2, 4, 15, 35, 44)]
        rows.append(
            [book, goodreads[book - 1], goodreads[book - 1], 10_000 + book * 7, chance.randrange(1, 300), isbn, isbn13,
             _authors(chance, authors), _year(chance, book), original, title, language,
             f"{3 + chance.randrange(150) / 100:.2f}".rstrip("0").rstrip("."),
             sold, sold + 17, sold // 40, *rated]
        )  # fmt: skip
    return rows


def _isbn(chance: random.Random) -> tuple[str, str]:
    """Return both ISBNs as a spreadsheet left them: without leading zeros, and without the last digits."""
    if chance.random() < 0.07:
        return "", ""
    digits = [0, *(chance.randrange(10) for _ in range(8))]
    check = -sum((10 - place) * digit for place, digit in enumerate(digits)) % 11
    ten = "".join(map(str, digits)) + "0123456789X"[check]
    if chance.random() < 0.02:
        ten = ten[:-1] + "0123456789X"[(check + 1) % 11]
    return ten.lstrip("0"), f"9.78{ten[:9]}0e+12"


def _authors(chance: random.Random, authors: Sequence[str]) -> str:
    chosen = [authors[_skewed(chance, len(authors))] for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    if chance.random() < 0.03:
        chosen[-1] = chosen[-1].replace(" ", " " * chance.randrange(2, 9), 1)
    return ", ".join(dict.fromkeys(chosen))


def _year(chance: random.Random, book: int) -> str:
    if book % 70 == 0:
        return ""
    if book % 90 == 0:
        return f"{-chance.randrange(20, 800)}.0"
    return f"{2017 - _skewed(chance, 300)}.0"


def _tags(chance: random.Random) -> dict[str, int]:
    """Return the number of every tag; numbers follow the names, with gaps."""
    rare = [f"{a}-{b}" for a in ADJECTIVES for b in NOUNS]
    chance.shuffle(rare)
    numbers = accumulate(chance.randrange(1, 4) for _ in count())
    return dict(zip(sorted({*GENRES, *COMMON, *ODD, *rare[:600]}), numbers, strict=False))


def _taggings(
    chance: random.Random, books: Sequence[Sequence[object]], tags: dict[str, int]
) -> list[tuple[int, int, int]]:
    """Return the rows of book_tags.csv: the tags of each book, the most frequent first."""
    rare = [name for name in tags if name not in {*GENRES, *COMMON}]
    chance.shuffle(rare)
    rows = []
    for book in sorted(int(str(row[1])) for row in chance.sample(books, TAGGED)):
        names = [name for place, name in enumerate(COMMON) if chance.random() < 0.97 - place / 30]
        main = _skewed(chance, len(GENRES))
        names += [GENRES[main], GENRES[(main + 1) % len(GENRES)]]
        names += [name for name in GENRES if chance.random() < 0.1]
        if "fantasy" in names and chance.random() < 0.2:
            names.append("Fantasy")  # this book has one tag under two spellings
        while len(set(names)) < TAGS_OF_A_BOOK:
            names.append(rare[_skewed(chance, len(rare))])
        often = chance.randrange(2000, 90_000)
        for name in dict.fromkeys(names):
            rows.append((book, tags[name], often))
            often = max(1, often * chance.randrange(50, 101) // 100)  # the last counts of a book are often equal
    return rows


def _ratings(chance: random.Random) -> list[tuple[int, int, int]]:
    """Return the rows of ratings.csv in the order of time."""
    rows = []
    readers = list(range(1, READERS + 1))
    start = 0
    for _, volumes, followers in SERIES:
        for reader in readers[start : start + followers]:
            bought = {volume for volume in volumes if chance.random() < 0.7}
            if volumes == SERIES[-1][1]:
                bought |= {book for book in BESTSELLERS if chance.random() < 0.97}
            rows += [(reader, book) for book in bought]
        start += followers
    for reader in readers:
        crowd = 3 if reader > start else 1
        rows += [(reader, 1 + _skewed(chance, RATED)) for _ in range(chance.randrange(crowd + 1))]
        rows += [(reader, book) for book in BESTSELLERS if reader % 3 == 0 and chance.random() < 0.6]
    rows = sorted(set(rows))
    chance.shuffle(rows)
    return [(reader, book, chance.choices((1, 2, 3, 4, 5), (2, 5, 20, 35, 38))[0]) for reader, book in rows]


def _wishes(chance: random.Random) -> list[tuple[int, int]]:
    """Return the rows of to_read.csv; some of its readers also have ratings."""
    rows = {(READERS // 2 + _skewed(chance, READERS), 1 + _skewed(chance, BOOKS // 3)) for _ in range(2000)}
    wishes = sorted(rows)
    chance.shuffle(wishes)
    return wishes


def _messages(chance: random.Random) -> list[tuple[int, int, int]]:
    """Return (SRC, DST, UNIXTS) rows, oldest first. People are numbered in order of appearance; a third never write."""
    times = sorted([FIRST, LAST, *(FIRST + _skewed(chance, LAST - FIRST) for _ in range(MESSAGES - 2))])
    times = [times[place - 1] if 0 < place < MESSAGES - 1 and place % 40 == 0 else at for place, at in enumerate(times)]
    writers = chance.sample(range(PEOPLE), PEOPLE * 2 // 3)
    partners: dict[int, list[int]] = {}
    found: list[tuple[int, int]] = []
    for _ in times:
        writer = writers[_skewed(chance, len(writers))]
        known = partners.setdefault(writer, [])
        if known and chance.random() < 0.6:
            reader = chance.choice(known)
        else:
            reader = (writer + 1 + chance.randrange(PEOPLE - 1)) % PEOPLE
            known.append(reader)
        found.append((writer, reader))
    numbers: dict[int, int] = {}
    named = [tuple(numbers.setdefault(person, len(numbers) + 1) for person in pair) for pair in found]
    return [(source, target, at) for (source, target), at in zip(named, times, strict=True)]


if __name__ == "__main__":
    write(FOLDER)
