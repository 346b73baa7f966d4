"""The tables of the seed, and the generated books of the demo."""

import json
from collections import Counter
from datetime import date

import pytest
from django.core.management import call_command

from accounts.models import User
from catalog.books.records import load_book_records
from catalog.listing import sql
from catalog.models import Author, Book, Tag
from catalog.query import parse
from demo.books import BOOK_COUNT, generate_books
from mirror.models import Change
from tests.support.catalog.make import make_book

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("text", "books"), [("ruby & web", {2}), ("ruby - web", {1}), ("web | erlang", {2, 3})])
def test_the_seeds_queries_find_the_seeds_books(text: str, books: set[int]) -> None:
    call_command("loaddata", "seed_examples", verbosity=0)
    assert set(sql.filter_books(parse(text)).values_list("pk", flat=True)) == books


def test_the_seeds_people_exist_but_cannot_log_in() -> None:
    call_command("loaddata", "seed_examples", verbosity=0)
    people = User.objects.select_related("login_stats").order_by("pk")
    stats = [(u.pk, u.username, u.login_stats.login_times, u.login_stats.last_login_time.date()) for u in people]
    assert stats == [
        (1, "ken thompson", 5, date(2011, 1, 1)),
        (2, "dennis ritchie", 1, date(2011, 2, 1)),
        (3, "Joe Armstrong", 2, date(2011, 3, 1)),
    ]
    assert not any(user.has_usable_password() for user in people)


def test_the_seeds_books_have_their_authors() -> None:
    call_command("loaddata", "seed_examples", verbosity=0)
    assert [(r["title"], r["authors"]) for r in load_book_records([1, 2, 3])] == [
        ("The Ruby Programming Language", ["Mark Pilgrim"]),
        ("Ruby on rail", ["David Flanagan"]),
        ("Programming Erlang", ["Joe Armstrong"]),
    ]


def test_the_seed_can_be_loaded_twice_and_beside_existing_tags() -> None:
    make_book("Another", pk=99, tags="web other ruby", authors="Joe Armstrong")
    for _ in range(2):
        call_command("loaddata", "seed_examples", verbosity=0)
    assert Book.objects.count() == 4
    assert set(Tag.objects.values_list("name", flat=True)) == {"web", "other", "ruby", "erlang"}
    assert Author.objects.count() == 3
    assert set(sql.filter_books(parse("ruby & web")).values_list("pk", flat=True)) == {2, 99}
    assert make_book("Made afterwards").pk > 3


def test_the_demo_has_a_few_hundred_distinct_books_with_overlapping_tags() -> None:
    books = generate_books()
    assert len({book.title for book in books}) == len(books) == BOOK_COUNT
    assert books == generate_books()
    tags = Counter(tag for book in books for tag in book.tags)
    assert 50 <= len(tags) <= 90
    assert min(len(book.tags) for book in books) >= 2
    together = [book for book in books if {"fantasy", "young-adult"} <= set(book.tags)]
    assert 0 < len(together) < tags["fantasy"]


def test_loading_the_demo_again_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("demo_books", "--json")
    changes = Change.objects.count()
    call_command("demo_books", "--json")
    assert [json.loads(part + "}") for part in capsys.readouterr().out.split("}")[:2]] == [
        {"added": BOOK_COUNT},
        {"added": 0},
    ]
    assert Book.objects.count() == BOOK_COUNT
    assert Change.objects.count() == changes
    shown = {record["title"]: record for record in load_book_records(list(Book.objects.values_list("pk", flat=True)))}
    assert len({record["isbn"] for record in shown.values()}) == BOOK_COUNT
    for demo in generate_books():
        assert shown[demo.title]["authors"] == list(demo.authors)
        # No country has numbers that begin so.
        assert shown[demo.title]["isbn"].startswith(("9799", "97869")), "the record has no wrong numbers"
        assert shown[demo.title]["tags"] == sorted(demo.tags)
