"""Readers' tags: one vote for each reader and tag, within limits, visible at once, counted for all, and revocable."""

import re
from typing import Any

import orjson
import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from accounts.personal.registry import all_parts
from catalog import keys, query
from catalog.models import Book, Tag, TagAlias, Tagging, TagVote
from catalog.tags import votes
from catalog.tags.services import remove_tag_from_books
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from shop.models import Product
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import own_copy
from tests.support.shop.checkouts import run_together
from tests.support.shop.page_cache import (
    Made,
    assert_alike,
    get_page,
    get_without_and_with_cache,
    made,
    page_path,
    product,
    warm_page_mirrors,
)
from tests.support.warm_mirrors import rebuild

__all__ = ["made", "own_copy", "product"]
JSON, HTMX = {"Accept": "application/json"}, {"HX-Request": "true"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ann(client: Client) -> User:
    user = User.objects.create(username="ann")
    client.force_login(user)
    return user


@pytest.fixture
def book(ann: User) -> Book:
    made = make_book("Dune", tags="desert")
    rebuild()
    return made


def give(client: Client, book: Book, tag: str, **headers: str) -> Any:
    return client.post(f"/books/{book.pk}/tags/", {"tag": tag}, headers=headers)


def take(client: Client, book: Book, tag: str, **headers: str) -> Any:
    return client.post(f"/books/{book.pk}/tags/remove/", {"tag": tag}, headers=headers)


def top(redis: Redis, book: Book) -> dict[str, int]:
    """Return the numbers of readers of a book's tags from Redis, after all changes have arrived."""
    drain_all()
    return {tag["name"]: tag["count"] for tag in orjson.loads(redis.get(keys.book(book.pk)) or b"")["top_tags"]}


def test_a_tag_is_in_redis_and_on_the_page_at_once(client: Client, ann: User, book: Book, redis: Redis) -> None:
    response = give(client, book, " Space  Opera ")
    assert response.headers["Location"] == f"/books/{book.pk}/#tags"
    html = client.get(f"/books/{book.pk}/").content.decode()
    assert "Remove your tag “space opera”" in html
    assert "Add the tag “desert”" in html
    assert top(redis, book) == {"desert": 1, "space opera": 1}
    assert redis.smembers(keys.tag("space opera")) == {str(book.pk).encode()}
    take(client, book, "Space Opera")
    assert "space opera" not in client.get(f"/books/{book.pk}/").content.decode()
    assert top(redis, book) == {"desert": 1}
    assert not redis.exists(keys.tag("space opera"))


def test_the_page_of_a_reader_costs_no_sql(client: Client, ann: User, book: Book) -> None:
    """The page needs one round trip more than without own tags."""
    votes.give_tag(ann.pk, book.pk, "sea")
    rebuild()
    path = f"/books/{book.pk}/"
    client.get(path)
    with record() as seen:
        html = client.get(path).content.decode()
    assert "Remove your tag “sea”" in html
    assert seen.sql == []
    with record() as alone:
        assert votes.find_own_tags(ann.pk, book.pk) == ["sea"]
    assert (alone.round_trips, alone.sql) == (1, [])


def test_one_reader_has_one_vote(client: Client, ann: User, book: Book, redis: Redis) -> None:
    assert give(client, book, "desert", **JSON).json() == {
        "book": book.pk, "tag": "desert", "is_changed": True, "own_tags": ["desert"],
    }  # fmt: skip
    assert give(client, book, "Desert", **JSON).json()["is_changed"] is False
    assert top(redis, book) == {"desert": 2}
    assert take(client, book, "desert", **JSON).json()["is_changed"] is True
    assert take(client, book, "desert", **JSON).json() == {
        "book": book.pk, "tag": "desert", "is_changed": False, "own_tags": [],
    }  # fmt: skip
    assert top(redis, book) == {"desert": 1}  # the imported tag stays without votes


@pytest.mark.parametrize("tag", ["new", "desert"])
def test_concurrent_votes_count_once_each(ann: User, book: Book, tag: str) -> None:
    people = [ann, *(User.objects.create(username=f"p{n}") for n in range(3))]
    done = run_together(8, lambda n: votes.give_tag(people[n % 4].pk, book.pk, tag))
    assert sorted(done, key=str) == [(tag, False)] * 4 + [(tag, True)] * 4
    assert TagVote.objects.count() == 4
    done = run_together(4, lambda n: votes.take_tag(people[n].pk, book.pk, tag))
    assert done == [(tag, True)] * 4
    assert set(book.tags.values_list("name", flat=True)) == {"desert"}


def test_an_alias_is_a_vote_for_its_tag(client: Client, ann: User, book: Book) -> None:
    TagAlias.objects.create(name="sand", tag=Tag.objects.get(name="desert"))
    assert give(client, book, "Sand", **JSON).json()["tag"] == "desert"
    assert give(client, book, "faves", **JSON).json()["tag"] == "favorites"
    assert take(client, book, "sand", **JSON).json()["own_tags"] == ["favorites"]


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("", "Enter a tag."),
        (" \t", "Enter a tag."),
        ("x" * 51, "A tag has at most 50 characters."),
        ("see www.example", "Remove web and email addresses"),
        ("buy at shop.com", "Remove web and email addresses"),
        ("a\x1bb", "Remove the invisible characters."),
    ],
)
def test_invalid_tags_are_refused(client: Client, ann: User, book: Book, tag: str, words: str) -> None:
    response = give(client, book, tag, **JSON)
    assert (response.status_code, response.json()["error"]["message"][: len(words)]) == (400, words)
    assert words in give(client, book, tag).content.decode()
    part = give(client, book, tag, **HTMX)
    assert part.status_code == 400
    assert words in part.content.decode()
    assert "<html" not in part.content.decode()
    assert Tag.objects.count() == 1


@pytest.mark.parametrize("tag", ['say "hi"', "<b>&</b>", "a & b", "-", "道"])
def test_every_accepted_tag_can_be_searched(client: Client, ann: User, book: Book, tag: str) -> None:
    if give(client, book, tag, **JSON).status_code == 400:
        assert (
            "Remove quotation marks and other special characters."
            in give(client, book, tag, **JSON).json()["error"]["message"]
        )
        return
    html = give(client, book, tag, **HTMX).content.decode()
    assert "<b>" not in html
    assert query.parse(query.format_query(query.Tag(tag))) == query.Tag(tag)


def test_htmx_gets_only_the_tags(client: Client, ann: User, book: Book) -> None:
    html = give(client, book, "sea", **HTMX).content.decode()
    assert "<html" not in html
    assert 'id="book-tags"' in html
    assert "Remove your tag “sea”" in html


def test_anonymous_visitors_must_log_in_first(book: Book) -> None:
    stranger = Client()
    response = give(stranger, book, "sea")
    assert response.headers["Location"].startswith("/accounts/login/?next=/accounts/resume/")
    assert give(stranger, book, "sea", **JSON).status_code == 401
    assert take(stranger, book, "sea", **JSON).status_code == 401
    assert not TagVote.objects.exists()


def test_a_forged_form_is_refused(ann: User, book: Book) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann)
    assert give(strict, book, "sea").status_code == 403
    assert take(strict, book, "sea").status_code == 403


def test_an_unknown_book_cannot_be_tagged(client: Client, ann: User) -> None:
    assert client.post("/books/987654321/tags/", {"tag": "sea"}).status_code == 404
    assert not Tag.objects.exists()


def test_votes_are_limited_in_rate_and_number(client: Client, ann: User, book: Book, settings: Settings) -> None:
    settings.TAG_RATES, settings.TAGS_OF_READER = ((3, 3600),), 2
    assert [give(client, book, tag, **JSON).status_code for tag in ("a", "b", "c", "d")] == [200, 200, 400, 429]
    assert "You can add 2 tags" not in give(client, book, "a").content.decode()
    assert 0 < int(give(client, book, "e").headers["Retry-After"]) <= 3600
    assert take(client, book, "a", **JSON).status_code == 200


def test_removing_a_tag_by_staff_deletes_its_votes(client: Client, ann: User, book: Book, redis: Redis) -> None:
    give(client, book, "rude")
    assert remove_tag_from_books(Book.objects.filter(pk=book.pk), Tag.objects.get(name="rude")) == 1
    assert not TagVote.objects.exists()
    rebuild()
    assert "rude" not in top(redis, book)


def test_the_mirror_of_votes_equals_sql(client: Client, ann: User, book: Book) -> None:
    for tag in ("sea", "sand", "desert"):
        give(client, book, tag)
    take(client, book, "sand")
    Tag.objects.filter(name="sea").update(name="ocean")
    rebuild()
    assert votes.find_own_tags(ann.pk, book.pk) == ["desert", "ocean"]
    assert verify(["book", "tag", "hidden_tag", "tag_vote"]) == []


def test_votes_count_and_show_without_redis(client: Client, ann: User, book: Book) -> None:
    breaker.failed()
    give(client, book, "sea")
    breaker.failed()
    assert "Remove your tag “sea”" in client.get(f"/books/{book.pk}/").content.decode()


def test_a_cached_page_shows_each_reader_only_their_own_tags(product: Product, made: Made) -> None:
    warm_page_mirrors()
    path, stranger, ann, bob = page_path(product), Client(), Client(), Client()
    for client, name in ((ann, "ann"), (bob, "bob")):
        client.force_login(User.objects.create(username=name))
    ann.post(f"{path}tags/", {"tag": "quiet"})
    drain_all()
    for _ in range(2):
        assert "Remove your tag “quiet”" in get_page(ann, path)
        assert "Add the tag “quiet”" in get_page(bob, path)
        page = get_page(stranger, path)
        assert re.search(r">quiet ?<", page)
        assert "your tag" not in page
        assert page.count("Log in to") == 1  # one button for all
    assert_alike(get_without_and_with_cache(path, ann))


def test_an_untagged_book_asks_for_its_first_tag(client: Client) -> None:
    bare = make_book("Bare")
    assert "Be the first to tag this book." in client.get(f"/books/{bare.pk}/").content.decode()
    assert "Every book here" not in client.get("/").content.decode()


def test_votes_are_downloaded_and_erased(client: Client, ann: User, book: Book, redis: Redis) -> None:
    bob = User.objects.create(username="bob")
    for tag in ("sea", "shared", "desert"):
        give(client, book, tag)
    votes.give_tag(bob.pk, book.pk, "shared")
    part = next(part for part in all_parts() if part.name == "tag_votes")
    assert part.read is not None
    assert {row["tag__name"] for row in part.read(ann.pk)} == {"sea", "shared", "desert"}
    assert part.erase(ann.pk) is False
    assert TagVote.objects.get().user == bob
    assert dict(Tagging.objects.values_list("tag__name", "imported_count")) == {"shared": 0, "desert": 1}
    rebuild()
    assert top(redis, book) == {"shared": 1, "desert": 1}
    assert not redis.exists(keys.tags_of_reader(ann.pk, book.pk))
