"""Details of a book: on its page, in its JSON, from imports, and in the admin."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from catalog.details.models import BookDetails
from catalog.models import Author, Book
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import own_copy, warm_up

__all__ = ["own_copy"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_copy")]
JSON = {"Accept": "application/json"}
HEADER = (
    "book_id,goodreads_book_id,authors,original_publication_year,original_title,title,language_code,isbn,isbn13,"
    "average_rating,ratings_count,description,publisher,format,translators,illustrators"
)


def _get_json(book: Book) -> Any:
    """Return the JSON of a book from Redis, after checking that SQL gives the same."""
    path = f"/books/{book.pk}/"
    with record() as seen:
        found = Client().get(path, headers=JSON).json()
    assert seen.sql == []
    with sql_only():
        assert Client().get(path, headers=JSON).json() == found
    return found


def test_a_page_shows_details_and_names_translators_apart_from_authors(client: Client) -> None:
    book = make_book("Salt", authors="Ann", isbn="9780439023481")
    details = BookDetails.objects.create(book=book, description="One.\n\nTwo <b>.", publisher="Heron", format="ebook")
    translator = Author.objects.create(name="Tess", bio="Lives by the sea.")
    details.translators.add(translator)
    warm_up()
    found = _get_json(book)
    assert (found["description"], found["publisher"], found["format"]) == ("One.\n\nTwo <b>.", "Heron", "ebook")
    assert (found["authors"], found["translators"], found["illustrators"]) == (["Ann"], ["Tess"], [])
    html = client.get(f"/books/{book.pk}/").content.decode()
    assert f'Translated by <a href="/authors/{translator.pk}/"><bdi>Tess</bdi></a>' in html
    assert "Illustrated by" not in html
    for text in ("Two &lt;b&gt;.", "Heron", "E-book", "9780439023481", "0439023483"):
        assert text in html, text
    assert "Lives by the sea." in client.get(f"/authors/{translator.pk}/").content.decode()
    translator.name = "Theo"
    translator.save()
    BookDetails.objects.update(publisher="Salt & Sons")
    drain_all()
    assert (_get_json(book)["translators"], _get_json(book)["publisher"]) == (["Theo"], "Salt & Sons")
    assert verify(["book_details"]) == []
    details.delete()
    drain_all()
    assert _get_json(book)["description"] == ""


def test_an_import_fills_the_details_that_a_file_has(tmp_path: Path) -> None:
    rows = [
        '1,11,"Ann, Bob",1999,,Salt,eng,,,4,9,"By the sea, twice.",Heron,Kindle Edition,Tess,"Ivo, Ann"',
        "2,12,Ann,1999,,Plain,eng,,,4,9,,,Scroll,,",
    ]
    (tmp_path / "books.csv").write_text("\n".join([HEADER, *rows]), encoding="utf-8")
    (tmp_path / "tags.csv").write_text("tag_id,tag_name\n", encoding="utf-8")
    (tmp_path / "book_tags.csv").write_text("goodreads_book_id,tag_id,count\n", encoding="utf-8")
    call_command("import_goodbooks", str(tmp_path), "--books-only", verbosity=0)
    details = BookDetails.objects.get()
    assert (details.book.title, details.description, details.publisher) == ("Salt", "By the sea, twice.", "Heron")
    assert details.format == "ebook"
    assert [author.name for author in details.translators.all()] == ["Tess"]
    assert sorted(author.name for author in details.illustrators.all()) == ["Ann", "Ivo"]
    assert sorted(author.name for author in details.book.authors.all()) == ["Ann", "Bob"]


def test_staff_edit_details_on_the_page_of_the_book(client: Client) -> None:
    book = make_book("Salt")
    client.force_login(User.objects.create_superuser("carol"))
    form = {"title": "Salt", "popularity": "0", "tagging_set-TOTAL_FORMS": "0", "tagging_set-INITIAL_FORMS": "0"}
    form |= {"details-TOTAL_FORMS": "1", "details-INITIAL_FORMS": "0", "details-0-book": str(book.pk)}
    form |= {"details-0-description": "By the sea.", "details-0-format": "paperback"}
    client.post(f"/admin/catalog/book/{book.pk}/change/", form)
    assert BookDetails.objects.get(book=book).description == "By the sea."
    form |= {"details-INITIAL_FORMS": "1", "details-0-DELETE": "on"}
    client.post(f"/admin/catalog/book/{book.pk}/change/", form)
    assert not BookDetails.objects.exists()
