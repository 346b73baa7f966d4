"""Merged authors: one author has all books, former pages redirect, and imports know the former names."""

from pathlib import Path
from typing import Final

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from catalog.authors.merging import merge_authors
from catalog.details.models import BookDetails
from catalog.following.models import AuthorFollow
from catalog.models import Author, AuthorAlias, Book
from tests.support.catalog.goodbooks import books_csv, links_csv, tags_csv, write
from tests.support.catalog.make import make_book
from tests.support.servers import RedisServer
from tests.support.warm_mirrors import rebuild

AUTHORS: Final = "/admin/catalog/author/"

pytestmark = pytest.mark.django_db(transaction=True)


def read_authors(client: Client, book: Book) -> list[str]:
    return list(client.get(f"/books/{book.pk}/", headers={"Accept": "application/json"}).json()["authors"])


def test_staff_merge_authors_after_a_confirmation(client: Client, redis_server: RedisServer) -> None:
    mine = make_book("Emma", authors="Jane Austen")
    both = make_book("Letters", authors="Jane Austen,J. Austen")
    other = make_book("Persuasion", authors="J. Austen,Someone")
    details = BookDetails.objects.create(book=mine)
    into, former = Author.objects.get(name="Jane Austen"), Author.objects.get(name="J. Austen")
    Author.objects.filter(pk=former.pk).update(bio="An English novelist.")
    for name, author in (("dora", former), ("erin", former), ("erin", into)):
        AuthorFollow.objects.create(user=User.objects.get_or_create(username=name)[0], author=author)
    details.translators.add(former)
    details.illustrators.add(into, former)
    rebuild()
    client.force_login(User.objects.create_superuser("carol"))
    form = {"action": "merge", "_selected_action": [former.pk, into.pk]}
    for name, text in (("", "Enter the name of an author"), ("Nemo", "There is no author called “Nemo”")):
        assert text in client.post(AUTHORS, form | {"author": name}, follow=True).content.decode()
    question = client.post(AUTHORS, form | {"author": " Jane  Austen"}).content.decode()
    assert "This cannot be undone" in question
    assert '<input type="hidden" name="author" value="Jane Austen">' in question
    assert Author.objects.filter(pk=former.pk).exists()
    done = client.post(AUTHORS, form | {"author": "Jane Austen", "confirmed": "yes"}, follow=True).content.decode()
    assert "1 author was merged into “Jane Austen”." in done
    assert [read_authors(client, book) for book in (mine, both, other)] == [
        ["Jane Austen"], ["Jane Austen"], ["Jane Austen", "Someone"],
    ]  # fmt: skip
    assert list(details.translators.all()) == list(details.illustrators.all()) == [into]
    page = client.get(f"/authors/{former.pk}/")
    assert (page.status_code, page["Location"]) == (301, f"/authors/{into.pk}/")
    assert "An English novelist." in client.get(page["Location"]).content.decode()
    assert client.get(f"/authors/{into.pk}/", headers={"Accept": "application/json"}).json()["count"] == 3
    assert set(AuthorFollow.objects.values_list("user__username", "author")) == {("dora", into.pk), ("erin", into.pk)}
    assert client.get(f"/authors/{former.pk + 999}/").status_code == 404
    # The former name finds the author, and is a name for the next merge.
    for query in ("J. Austen", "j austen", "Jane Austen"):
        found = client.get("/search/", {"q": query}, headers={"Accept": "application/json"}).json()["authors"]
        assert {"id": into.pk, "name": "Jane Austen"} in found, query
    more = Author.objects.create(name="Miss Austen")
    form = {"action": "merge", "author": "J. Austen"}
    question = client.post(AUTHORS, form | {"_selected_action": [more.pk]}).content.decode()
    assert "All their books become books of “Jane Austen”" in question
    assert "Jane Austen" in client.get(AUTHORS, {"q": "j. austen"}).content.decode(), "by the former name"
    itself = client.post(AUTHORS, form | {"_selected_action": [into.pk]}, follow=True).content.decode()
    assert "“Jane Austen” cannot be merged into itself." in itself
    page = client.get(f"/books/series/{former.pk}/novels/")
    assert (page.status_code, page["Location"]) == (301, f"/books/series/{into.pk}/novels/")
    for path in ("posts/", "posts/feed/"):
        page = client.get(f"/authors/{former.pk}/{path}")
        assert (page.status_code, page["Location"]) == (301, f"/authors/{into.pk}/{path}")
        assert client.get(f"/authors/{former.pk + 999}/{path}").status_code == 404
    redis_server.kill()
    assert [read_authors(client, book) for book in (mine, other)] == [["Jane Austen"], ["Jane Austen", "Someone"]]


def test_merges_of_merged_authors_lead_to_the_last_one_and_imports_find_it(client: Client, tmp_path: Path) -> None:
    first, second, third = (Author.objects.create(name=name) for name in ("A", "B", "C"))
    assert merge_authors(Author.objects.filter(pk=first.pk), second) == 1
    assert merge_authors(Author.objects.filter(pk__in=[second.pk, third.pk]), third) == 1
    assert merge_authors(Author.objects.filter(pk=third.pk), second) == 0  # it is gone
    for former in (first, second):
        assert client.get(f"/authors/{former.pk}/")["Location"] == f"/authors/{third.pk}/"
    assert dict(AuthorAlias.objects.values_list("name", "author")) == {"A": third.pk, "B": third.pk}
    write(tmp_path, books_csv({"authors": "B, X, A"}), tags_csv(), links_csv())
    call_command("import_goodbooks", str(tmp_path), "--books-only", "--json")
    assert list(Book.objects.get().authors.order_by("pk")) == [third, Author.objects.get(name="X")]
    third.delete()
    assert client.get(f"/authors/{first.pk}/").status_code == 404


def test_names_are_found_in_any_case_and_a_refusal_keeps_the_selection(client: Client) -> None:
    make_book("Letters", authors="Émile Zola,Zola,E. Zola,Twin,TWIN")
    rebuild()
    client.force_login(User.objects.create_superuser("carol"))
    former, other = Author.objects.get(name="Zola"), Author.objects.get(name="E. Zola")
    form = {"action": "merge", "_selected_action": [former.pk, other.pk]}
    assert '<option value="Émile Zola"></option>' in client.get(AUTHORS).content.decode()
    for typed, error, offered in (
        ("", "Enter the name of an author.", "E. Zola"),
        ("Emile Zolla", "There is no author called “Emile Zolla”.", "Émile Zola"),
        ("twin", "Several authors are called “twin”. Choose one spelling.", "TWIN"),
    ):
        page = client.post(AUTHORS, form | {"author": typed}).content.decode()
        assert error in page
        assert f'<option value="{offered}"></option>' in page
        assert 'name="confirmed"' not in page, "the next page asks for a confirmation"
        for pk in (former.pk, other.pk):
            assert f'<input type="hidden" name="_selected_action" value="{pk}">' in page
        assert not typed or f'name="author" value="{typed}"' in page
    question = client.post(AUTHORS, form | {"author": "éMILE zola"}).content.decode()
    assert '<input type="hidden" name="author" value="Émile Zola">' in question
    assert 'name="confirmed" value="yes"' in question
