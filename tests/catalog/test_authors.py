"""The page of an author: books, posts about them, costs, and answers to bad input."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from accounts.models import User
from catalog.listing.results import PAGE_SIZE
from catalog.models import Author, Book
from catalog.selectors import find_books_by_author, get_author
from catalog.template_functions.books import author_and_count
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social.models import Post
from tests.support.catalog.make import make_authors, make_book, make_books
from tests.support.catalog.warm import own_copy, shown
from tests.support.catalog.warm import warm_up as warm_up_books
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

__all__ = ["own_copy"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_copy")]
JSON = {"Accept": "application/json"}


@pytest.fixture
def ann() -> Author:
    """An author with more than a page of books, one of them with Bob, and posts about two books."""
    made = make_books((Book(title=f"Book {n:02}", popularity=n) for n in range(PAGE_SIZE + 5)), authors="Ann")
    make_authors([(made[3], "Bob")])
    other = make_book("Elsewhere", authors="Cleo", popularity=99)
    reader = User.objects.create_user("reader")
    Post.objects.bulk_create(
        Post(user=reader, text=f"Said {n}", book=book) for n, book in enumerate([made[3], made[4], other])
    )
    rebuild()
    warm_up_books()
    return Author.objects.get(name="Ann")


def test_the_page_has_books_by_popularity_and_posts_about_them(client: Client, ann: Author) -> None:
    client.get(f"/authors/{ann.pk}/")  # fill the caches of the process
    with record() as seen:
        response = client.get(f"/authors/{ann.pk}/")
    assert (seen.round_trips, seen.sql) == (1, [])
    html = response.content.decode()
    assert response.status_code == 200
    assert html.count('class="card"') == PAGE_SIZE
    assert html.index("Book 24") < html.index("Book 23") < html.index("Book 05")
    assert "Elsewhere" not in html
    assert "Said 0" in html
    assert "Said 1" in html
    assert "Said 2" not in html
    assert find_policy_violations(html) == []


def test_cards_on_an_author_page_name_only_other_authors(client: Client, ann: Author) -> None:
    html = client.get(f"/authors/{ann.pk}/?pages=2").content.decode()
    bob = Author.objects.get(name="Bob")
    assert html.count(f'<p class="card-by"><span>with <a href="/authors/{bob.pk}/"><bdi>Bob</bdi></a></span></p>') == 1
    assert html.count('class="card-by"') == 1
    cards = client.get(f"/authors/{bob.pk}/").content.decode()
    assert f'<p class="card-by"><span>with <a href="/authors/{ann.pk}/"><bdi>Ann</bdi></a></span></p>' in cards


def test_the_next_page_is_a_plain_link_or_a_part_for_htmx(client: Client, ann: Author) -> None:
    first = client.get(f"/authors/{ann.pk}/", headers=JSON).json()
    assert (first["id"], first["name"], first["count"], len(first["results"])) == (
        ann.pk,
        "Ann",
        PAGE_SIZE + 5,
        PAGE_SIZE,
    )
    assert first["next"].startswith(f"/authors/{ann.pk}/?after=")
    rest = client.get(first["next"], headers=JSON).json()
    assert [book["title"] for book in rest["results"]] == [f"Book {n:02}" for n in (4, 3, 2, 1, 0)]
    assert rest["next"] is None
    part = client.get(first["next"], headers={"HX-Request": "true"}).content.decode()
    assert part.count('class="card"') == 5
    assert "<html" not in part


def test_redis_and_sql_answer_alike(client: Client, ann: Author) -> None:
    found, author = find_books_by_author(ann.pk), get_author(ann.pk)
    with sql_only():
        assert shown(find_books_by_author(ann.pk)) == shown(found)
        by_sql = get_author(ann.pk)
        said = client.get(f"/authors/{ann.pk}/").content.decode()
    assert author is not None
    assert by_sql is not None
    assert by_sql.raw == author.raw
    assert "Said 1" in said
    assert "Said 2" not in said


@pytest.mark.parametrize("pk", ["0", "999999", "9" * 30])
def test_an_unknown_author_is_404(client: Client, ann: Author, pk: str) -> None:
    with record() as seen:
        response = client.get(f"/authors/{pk}/", headers=JSON)
    assert response.status_code == 404
    assert response.json() == {"error": {"message": "Author not found."}}
    assert len(seen.sql) <= 1  # for an author who was merged into another one
    assert client.get(f"/authors/{pk}/").status_code == 404
    assert client.get(f"/authors/{pk}/posts/").status_code == 404


def test_every_card_and_book_page_links_to_its_authors(client: Client, ann: Author) -> None:
    bob, both = Author.objects.get(name="Bob"), Book.objects.get(title="Book 03")
    first, second = (f'<a href="/authors/{one.pk}/"><bdi>{one.name}</bdi></a>' for one in (ann, bob))
    for address in (f"/books/{both.pk}/", f"/books/{both.pk}/posts/", "/books/?sort=-popular"):
        assert f"{first}, {second}" in client.get(address).content.decode(), address
    make_authors([(both, "Cid")])
    rebuild()
    warm_up_books()
    assert f"{first}, {second}, <a" in client.get(f"/books/{both.pk}/").content.decode()
    assert f"{first} and 2 others<" in client.get("/books/?sort=-popular").content.decode()
    named = {"author_ids": [ann.pk, bob.pk, 7], "authors": ["Ann", "Bob", "<Cid>"]}
    count = '<span title="Bob, &lt;Cid&gt;" aria-hidden="true">+2</span><span class="sr-only">, Bob, &lt;Cid&gt;</span>'
    assert author_and_count(named) == f"{first}\xa0{count}"
    assert author_and_count({"author_ids": [ann.pk], "authors": ["Ann"]}) == first
    assert f">with {first}, <a" in client.get(f"/authors/{bob.pk}/").content.decode()
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    assert f"{first} 等 3 人<" in client.get("/books/?sort=-popular").content.decode()


def _posts(client: Client, author: Author) -> list[str]:
    drain_all()
    results: list[dict[str, Any]] = client.get(f"/authors/{author.pk}/posts/", headers=JSON).json()["results"]
    return [post["text"] for post in results]


def test_posts_follow_all_changes(client: Client, ann: Author) -> None:
    bob, cleo = Author.objects.get(name="Bob"), Author.objects.get(name="Cleo")
    assert (_posts(client, ann), _posts(client, bob), _posts(client, cleo)) == (
        ["Said 1", "Said 0"],
        ["Said 0"],
        ["Said 2"],
    )
    Post.objects.filter(text="Said 0").update(is_hidden=True)
    assert (_posts(client, ann), _posts(client, bob)) == (["Said 1"], [])
    Post.objects.filter(text="Said 0").update(is_hidden=False, book=Book.objects.get(title="Elsewhere"))
    assert (_posts(client, bob), _posts(client, cleo)) == ([], ["Said 2", "Said 0"])
    Book.objects.get(title="Elsewhere").authors.add(bob)
    assert _posts(client, bob) == ["Said 2", "Said 0"]
    User.objects.filter(username="reader").update(is_active=False)
    assert (_posts(client, ann), _posts(client, bob), _posts(client, cleo)) == ([], [], [])
    User.objects.filter(username="reader").update(is_active=True)
    Book.objects.get(title="Elsewhere").delete()
    assert (_posts(client, ann), _posts(client, cleo)) == (["Said 1"], [])
    assert verify(["author", "book", "author_posts"]) == []


def test_a_new_name_of_an_author_shows_at_once(client: Client, ann: Author) -> None:
    Author.objects.filter(pk=ann.pk).update(name="Anne <b>")
    drain_all()
    html = client.get(f"/authors/{ann.pk}/").content.decode()
    assert '<h1 dir="auto">Anne &lt;b&gt;</h1>' in html
    assert "Anne <b>" not in html
