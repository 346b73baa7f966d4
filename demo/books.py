"""A generated catalogue for ``make demo``: the same few hundred invented books on every machine."""

import re
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from django.db import transaction
from stdnum import ean

from catalog.books import split_title
from catalog.details.models import BookDetails, Format
from catalog.models import Author, Book, Tag
from catalog.tags import add_counted_taggings, get_or_create_ids
from demo.words.authors import (
    BIOGRAPHIES,
    CHINESE_AUTHORS,
    CHINESE_BIOGRAPHY,
    CHINESE_PLACES,
    FIRST_NAMES,
    LAST_NAMES,
    PLACES,
)
from demo.words.books import GENRES, ORIGINAL_TITLES, PUBLISHERS, SERIES, SHELF_TAGS, VOLUME_COUNT, Genre
from demo.words.descriptions import DESCRIPTIONS

GENERATED_COUNT = 360
BOOK_COUNT = GENERATED_COUNT + VOLUME_COUNT
SEED = "diptych"


class DemoBook(NamedTuple):
    """One generated book."""

    title: str
    authors: tuple[str, ...]
    tags: tuple[str, ...]
    year: int
    language: str
    popularity: int
    rating: str
    pages: int


def generate_books() -> list[DemoBook]:
    """Return the generated books: always the same, with unique titles."""
    random = Random(SEED)
    authors = {genre: _invent_authors(random, genre) for genre in GENRES}
    books: dict[str, DemoBook] = {}
    for genre in _pick_genres(random):
        if len(books) == GENERATED_COUNT:
            break
        title = _invent_title(random, genre)
        if title not in books:
            books[title] = _invent_book(random, genre, title, authors[genre])
    return list(books.values()) + list(_list_volumes())


def _list_volumes() -> Iterator[DemoBook]:
    """Yield the volumes of series, which many readers read, the first ones more than the others."""
    for series in SERIES:
        for number, title in enumerate(series.titles, start=1):
            yield DemoBook(
                title=f"{title} ({series.name}, #{number})",
                authors=(series.author,),
                tags=series.tags,
                year=series.since + 2 * number,
                language="eng",
                popularity=2400 // number,
                rating="4.10",
                pages=_invent_pages(title),
            )


def _pick_genres(random: Random) -> Iterator[Genre]:
    """Yield random genres without end, the first genres more often."""
    weights = [len(GENRES) + 4 - i for i in range(len(GENRES))]
    while True:
        yield random.choices(GENRES, weights)[0]


def _invent_authors(random: Random, genre: Genre) -> tuple[str, ...]:
    if genre.language == "zho":
        return CHINESE_AUTHORS
    names = [f"{random.choice(FIRST_NAMES)} {random.choice(LAST_NAMES)}" for _ in range(12)]
    return tuple(dict.fromkeys(names))


def _invent_title(random: Random, genre: Genre) -> str:
    nouns = random.sample(genre.nouns, min(2, len(genre.nouns)))
    pattern = random.choice(genre.titles)
    words = {
        "a": random.choice(genre.adjectives),
        "p": random.choice(genre.places),
        "s": random.choice(genre.subjects) if genre.subjects else "",
    }
    # The first noun in the first place, and the other one in the second.
    text = pattern.replace("{n}", nouns[0], 1).replace("{n}", nouns[-1])
    return re.sub(r"\bA (?=[AEIOU])", "An ", text.format(**words))


def _invent_book(random: Random, genre: Genre, title: str, authors: tuple[str, ...]) -> DemoBook:
    writers = random.sample(authors, 2 if random.random() < 0.12 else 1)
    tags = list(genre.tags)
    tags += [tag for tag in genre.often if tag in title.lower()]  # "Practical Ruby" is about ruby
    tags += random.sample(genre.often, random.randint(1, 4))
    tags += random.sample(SHELF_TAGS, random.randint(0, 3))
    return DemoBook(
        title=title,
        authors=tuple(writers),
        tags=tuple(dict.fromkeys(tags)),
        year=random.randint(*genre.years) or 1,
        language=genre.language,
        popularity=int(120 * random.paretovariate(0.9)),
        rating=f"{min(4.8, max(2.6, random.gauss(3.9, 0.35))):.2f}",
        pages=_invent_pages(title),
    )


def _invent_pages(title: str) -> int:
    """Return a number of pages: most books have 200 to 450."""
    # From the title alone, so that the other values of generated books stay the same.
    return max(48, int(Random(f"{SEED} pages {title}").gauss(320, 110)))


def _invent_details(book_id: int, demo: DemoBook) -> BookDetails:
    """Return the details of a book, with a description of three sentences."""
    random = Random(f"{SEED} details {demo.title}")
    between = "" if demo.language == "zho" else " "
    parts = (random.choice(part) for part in DESCRIPTIONS[demo.tags[0]])
    return BookDetails(
        book_id=book_id,
        description=between.join(parts).format(t=split_title(demo.title)[0]),
        publisher=random.choice(PUBLISHERS),
        format=random.choice((Format.HARDCOVER, Format.PAPERBACK)),
    )


def _invent_isbn(title: str) -> str:
    """Return a valid ISBN that no real book has: no country has got the numbers that begin with 979-9 or 978-69.

    Only the latter have a form of ten digits.
    """
    random = Random(f"{SEED} isbn {title}")
    number = f"9799{random.randrange(10**8):08d}"
    if random.random() < 0.7:
        number = f"97869{random.randrange(10**7):07d}"
    return number + ean.calc_check_digit(number)


def _invent_original_title(demo: DemoBook) -> str:
    """Return the title of a translated book in its first language, or ""."""
    is_translated = "translated" in demo.tags and demo.language == "eng"
    return Random(f"{SEED} original {demo.title}").choice(ORIGINAL_TITLES) if is_translated else ""


def _invent_biography(name: str, kind: str) -> str:
    """Return a few sentences about an author of a kind of books."""
    random = Random(f"{SEED} biography {name}")
    if name in CHINESE_AUTHORS:
        return CHINESE_BIOGRAPHY.format(name=name, place=random.choice(CHINESE_PLACES))
    sentences = (random.choice(part) for part in BIOGRAPHIES)
    return " ".join(sentences).format(name=name, place=random.choice(PLACES), kind=kind.replace("-", " "))


def _invent_tag_counts(demo: DemoBook) -> dict[str, int]:
    """Return the number of readers for each tag. The genre's own tags come first and have the most."""
    random = Random(demo.title)
    counts = {}
    for n, name in enumerate(demo.tags):
        share = random.uniform(0.3, 1) / (n + 2)
        counts[name] = 1 + int(demo.popularity * share)
    return counts


def load_demo_books(limit: int = BOOK_COUNT) -> int:
    """Add those of the first generated books that are missing, compared by title, and return their number."""
    # By title, because generated books have no number by which a second run could know them.
    there = set(Book.objects.values_list("title", flat=True))
    new = [demo for demo in generate_books()[:limit] if demo.title not in there]
    with transaction.atomic():
        _add_books(new)
    return len(new)


def _add_books(new: list[DemoBook]) -> None:
    tag_names: set[str] = set()
    author_names: set[str] = set()
    for demo in new:
        tag_names.update(demo.tags)
        author_names.update(demo.authors)
    tags, _ = get_or_create_ids(Tag, list(tag_names))
    authors, _ = get_or_create_ids(Author, list(author_names))
    _add_biographies({name: demo.tags[0] for demo in reversed(new) for name in demo.authors})
    Book.objects.bulk_create(_build_book(demo) for demo in new)
    books = dict(Book.objects.filter(title__in=[demo.title for demo in new]).values_list("title", "pk"))
    link = Book.authors.through
    links = []
    tag_counts: dict[tuple[int, int], int] = {}
    for demo in new:
        pk = books[demo.title]
        links += [link(book_id=pk, author_id=authors[name]) for name in demo.authors]
        for name, count in _invent_tag_counts(demo).items():
            tag_counts[pk, tags[name]] = count
    # In one statement: ``add`` would need one for each book.
    link._base_manager.bulk_create(links)
    BookDetails.objects.bulk_create(_invent_details(books[demo.title], demo) for demo in new)
    add_counted_taggings(tag_counts)


def _add_biographies(kinds: dict[str, str]) -> None:
    """Write about the authors that nobody has written about. kinds: of books, by the name of the author."""
    authors = list(Author.objects.filter(name__in=list(kinds), bio=""))
    for author in authors:
        author.bio = _invent_biography(author.name, kinds[author.name])
    Author.objects.bulk_update(authors, ["bio"])


def _build_book(demo: DemoBook) -> Book:
    return Book(
        title=demo.title,
        original_title=_invent_original_title(demo),
        isbn=_invent_isbn(demo.title),
        year=demo.year,
        language=demo.language,
        popularity=demo.popularity,
        rating=demo.rating,
        pages=demo.pages,
    )
