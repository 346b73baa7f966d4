"""Thirty queries: how many books match, what comes first, and which author is named first."""

from pathlib import Path
from typing import Final

import pytest

from catalog.search.selectors import search
from mirror.relay.sql_only import sql_only
from tests.support import samples
from tests.support.search.queries import load_books, shown

BOOKS: Final = 480
# query, number of books that match all words, first title, first author
TABLE: Final = [
    ("the drifting kettle", 1, "The Drifting Kettle", "Oskar Yilmaz"),
    ("kettle", 16, "The Drifting Kettle", "Oskar Yilmaz"),
    ("moth gate", 3, "The Patient Station (The Moth Gate, #1)", "Tomoko Fjeld"),
    ("salt & ember", 2, "The Second Island (Salt & Ember, #1)", "Ilse Thackley"),
    ("tollgate street", 4, "The Drifting Chimney (Tollgate Street, #1)", "Tomoko Rasmussen"),
    ("letters from nowhere", 2, "The Northern Clockmaker (Letters from Nowhere, #1)", "Oskar Lindqvist"),
    ("yusra hartog", 85, "The Broken Moth (The Moth Gate, #3)", "Yusra Hartog"),
    ("hartog", 122, "The Broken Moth (The Moth Gate, #3)", "Yusra Hartog"),
    ("thackley moth", 0, "The Patient Station (The Moth Gate, #1)", "J.T. Thackley"),
    ("quiet", 77, "The Quiet Cartographer", "J.T. Thackley"),
    ("the second island", 3, "The Second Island (Salt & Ember, #1)", "Ilse Thackley"),
    ("drftng kettle", 0, "The Drifting Kettle", ""),
    ("quiet cartographr", 0, "The Quiet Cartographer", ""),
    ("cartographer", 18, "The Quiet Cartographer", "J.T. Thackley"),
    ("fantasy", 113, "The Copper Lantern", ""),
    ("young adult", 132, "The Copper Lantern", ""),
    ("9780800541156", 1, "The Patient Station (The Moth Gate, #1)", "Tomoko Fjeld"),
    ("émile brandt", 4, "The Quiet Garden", "Émile Brandt"),
    ("emile", 34, "The Second Comet", "Émile Sørby"),
    ("soren", 24, "The Empty Glacier", "Søren O'Dell"),
    ("lucja", 39, "The Midnight Ferry", "Łucja Mbeki-Ross"),
    ("lighthouse", 18, "The Tidal Lighthouse", "Dorte Yilmaz"),
    ("velvet quary", 0, "The Velvet Quarry", ""),
    ("lantern thackley", 1, "The Copper Lantern", "Mireille Thackley"),
    ("island salt ember 1", 1, "The Second Island (Salt & Ember, #1)", "Ilse Thackley"),
    ("zzzz qqqq", 0, "", ""),
    ("ferry the silver", 6, "The Silver Ferry (The Moth Gate, #2)", "Noor Kestrel"),
    ("winterbourne orchard", 1, "The Empty Orchard", "Søren Winterbourne"),
    ("026200867X", 1, "The Midnight Ferry", "Łucja Mbeki-Ross"),
    ("moth gate fantasy", 0, "The Patient Station (The Moth Gate, #1)", ""),
]


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db(transaction=True)
def test_thirty_queries_find_what_readers_look_for(tmp_path: Path) -> None:
    load_books(samples.GOODBOOKS, BOOKS, tmp_path)
    found = []
    for text, *_ in TABLE:
        results = search(text, page=1)
        with sql_only():
            assert shown(search(text, page=1)) == shown(results), text
        first, author = results.books[:1], results.authors[:1]
        found.append((text, results.count, first[0]["title"] if first else "", author[0].name if author else ""))
    assert found == TABLE
