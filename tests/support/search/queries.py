"""Search in Redis and in SQL alike, and search with typing errors."""

import random
import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management import call_command

from catalog.models import Author, Book
from catalog.search.results.values import SearchResults
from catalog.search.selectors import search
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.catalog.goodbooks import write_first_books
from tests.support.warm_mirrors import rebuild

MIRRORS = ["book", "tag", "product", "user", "shun", "document", "term"]
INDEXES = ["indexed_book", "indexed_author", "indexed_tag", "indexed_reader"]


def warm_search() -> None:
    """Rebuild and drain the mirrors that the search reads."""
    rebuild([*INDEXES, *MIRRORS])
    drain_all()  # the rebuild of an index writes documents


def load_books(folder: Path, limit: int, part: Path) -> None:
    """Import the first ``limit`` books of a folder in goodbooks format and warm the search.

    part: an empty folder for the reduced files.
    """
    write_first_books(folder, part, limit, all_tags=False)
    call_command("import_goodbooks", str(part), "--books-only", verbosity=0)
    warm_search()


def shown(found: SearchResults) -> dict[str, Any]:
    """Return everything that a template can read from a result."""
    return {
        "books": [book.raw for book in found.books],
        "beside": [[said and said.raw for said in values] for values in found.card_values],
        "authors": found.authors,
        "tags": found.tags,
        "readers": found.readers,
    }


def search_both_ways(text: str, viewer: int = 0, most: int = 20) -> SearchResults:
    """Return the results from Redis, after checking at most three round trips, no SQL, and equal results from SQL."""
    with record() as seen:
        found = search(text, viewer, most)
    assert seen.sql == []
    assert seen.round_trips <= 3
    with record() as seen, sql_only():
        by_sql = search(text, viewer, most)
    assert seen.round_trips == 0
    assert shown(found) == shown(by_sql)
    return found


def find_titles(text: str, viewer: int = 0) -> list[str]:
    """Return the titles that Redis and SQL both find."""
    return [book["title"] for book in search_both_ways(text, viewer).books]


def mistype(text: str, chance: random.Random) -> str:
    """Return ``text`` with one random Damerau-Levenshtein edit; inserted letters are a to z."""
    while True:
        kind, letter = chance.choice(["insert", "delete", "replace", "swap"]), chance.choice(string.ascii_lowercase)
        n = chance.randrange(len(text) + (kind == "insert"))
        rest = text[n:]
        made = {
            "insert": letter + rest,
            "delete": rest[1:],
            "replace": letter + rest[1:],
            "swap": rest[1:2] + rest[:1] + rest[2:],
        }[kind]
        if text[:n] + made != text:
            return text[:n] + made


def count_found(queries: Iterable[tuple[int, str]], among: int = 5) -> int:
    """Return the number of queries that find their book among the first ``among`` results."""
    return sum(pk in [book["id"] for book in search(text, most=among).books] for pk, text in queries)


def count_first_authors(authors: Sequence[tuple[int, str]]) -> int:
    """Return the number of authors that come first in a search for their name."""
    return sum([author.id for author in search(name).authors[:1]] == [pk] for pk, name in authors)


def all_titles() -> list[tuple[int, str]]:
    """Return the id and title of every book."""
    return list(Book.objects.order_by("pk").values_list("pk", "title"))


def all_authors() -> list[tuple[int, str]]:
    """Return the id and name of every author."""
    return list(Author.objects.order_by("pk").values_list("pk", "name"))
