"""The page of a series: volumes in order, and the reader's progress."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from catalog.models import Author, Book
from catalog.selectors import find_series_page
from catalog.shelves.models import Shelf
from catalog.shelves.services import put_on_shelf
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import own_copy, warm_up
from tests.support.warm_mirrors import rebuild

__all__ = ["own_copy"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_copy")]
JSON = {"Accept": "application/json"}


@pytest.fixture
def volumes() -> dict[str, Book]:
    made = {
        "three": make_book("Three (The Salt, #3)", authors="Ann", popularity=9),
        "one": make_book("One (Salt, #1)", authors="Ann", popularity=5),
        "two": make_book("Two (Salt, #2)", authors="Ann", popularity=7),
        "box": make_book("Box (Salt, #1-3)", authors="Ann"),
        "other": make_book("Other (Salt, #1)", authors="Zed"),
    }
    warm_up()
    rebuild(["shelf_entry"])
    return made


def test_volumes_are_in_order_with_the_readers_progress(client: Client, volumes: dict[str, Book]) -> None:
    author, reader = Author.objects.get(name="Ann").pk, User.objects.create_user("rita")
    put_on_shelf(reader.pk, volumes["one"].pk, Shelf.READ, timezone.localdate())
    drain_all()
    for viewer, progress in ((0, (None, None)), (reader.pk, (1, volumes["two"].pk))):
        with record() as seen:
            found = find_series_page(author, "salt", viewer)
        assert found
        assert (seen.sql, seen.round_trips) == ([], 2)
        with sql_only():
            by_sql = find_series_page(author, "salt", viewer)
        assert by_sql
        assert by_sql.books.books == found.books.books
        assert by_sql.books.entries == found.books.entries
        assert [book["id"] for book in found.books.books] == [volumes[name].pk for name in ("one", "two", "three")]
        assert (found.read_count, found.next and found.next["id"]) == progress
    path = f"/books/series/{author}/salt/"
    client.force_login(reader)
    html = client.get(path).content.decode()
    assert "You have read 1 of 3." in html
    assert f'<a href="/books/{volumes["two"].pk}/">Next:' in html
    assert [book["id"] for book in client.get(path, headers=JSON).json()["volumes"]] == [
        volumes[name].pk for name in ("one", "two", "three")
    ]
    for wrong in (f"/books/series/{author}/pepper/", "/books/series/987654321/salt/", f"/books/series/{author}/a/b/"):
        assert client.get(wrong).status_code == 404
