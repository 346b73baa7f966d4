"""First steps: from the registration to a front page of the reader's own, without JavaScript."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from catalog.models import Book, Tag
from catalog.shelves.models import Shelf, ShelfEntry
from catalog.shelves.services import rate_book
from catalog.tags.services import merge_tags
from mirror.relay.sql_only import sql_only
from social.models import Follow
from social.services import people
from social.services.posts import create_post
from social.welcome.models import ChosenGenre
from social.welcome.services import choose_genres
from social.welcome.suggestions import suggest_books, suggest_followees, suggest_genres
from tests.support.warm_mirrors import catch_up, rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a quiet bookshop"
FOLLOW = re.compile(r'action="(/u/[^"]+/follow/)"')


@pytest.fixture
def books() -> list[Book]:
    """Thirty books, most read first: with the tag "fantasy" the even ones, with "crime" the odd ones."""
    made = [Book.objects.create(title=f"Book {n}", popularity=100 - n) for n in range(30)]
    for n, book in enumerate(made):
        book.tags.add(Tag.objects.get_or_create(name=("fantasy", "crime")[n % 2])[0])
    made[0].tags.add(Tag.objects.create(name="owned", hidden=True))
    return made


def test_genres_survive_a_merge_of_tags(books: list[Book]) -> None:
    nora, otto = (User.objects.create_user(name) for name in ("nora", "otto"))
    choose_genres(nora.pk, ["crime"])
    choose_genres(otto.pk, ["crime", "fantasy"])
    assert merge_tags(Tag.objects.filter(name="crime"), Tag.objects.get(name="fantasy")) == 1
    assert list(ChosenGenre.objects.order_by("user").values_list("user", "tag__name")) == [
        (nora.pk, "fantasy"),
        (otto.pk, "fantasy"),
    ]


def test_a_choice_keeps_the_genres_that_the_form_does_not_show(books: list[Book], client: Client) -> None:
    nora = User.objects.create_user("nora")
    choose_genres(nora.pk, ["crime", "fantasy"])
    Tag.objects.filter(name="crime").update(hidden=True)
    client.force_login(nora)
    assert 'value="crime"' not in client.get("/welcome/genres/").content.decode()
    client.post("/welcome/genres/", {"genre": []})
    assert list(ChosenGenre.objects.values_list("tag__name", flat=True)) == ["crime"]


def test_a_new_reader_takes_the_steps_without_javascript(books: list[Book], client: Client) -> None:
    fans = [User.objects.create_user(f"fan{n}", avatar=f"{n}-abc") for n in range(6)]
    for fan in fans:
        rate_book(fan.pk, books[0].pk, 10, timezone.localdate())
    rebuild()
    given = {"username": "nora", "password1": PASSWORD, "password2": PASSWORD}
    address = client.post("/accounts/register/", given).headers["Location"]
    assert address == "/welcome/"
    assert "0 of 4 steps done" in client.get(address).content.decode()
    # Skipping leads from step to step, and stores nothing.
    for step, following in (("genres", "books"), ("books", "readers"), ("readers", "library")):
        assert (
            f'<a class="button quiet" href="/welcome/{following}/">' in client.get(f"/welcome/{step}/").content.decode()
        )
    assert "Get started" in client.get("/").content.decode()
    response = client.post("/welcome/genres/", {"genre": ["fantasy", "owned", "nothing"]})
    assert response.headers["Location"] == "/welcome/books/"
    nora = User.objects.get(username="nora")
    assert list(ChosenGenre.objects.values_list("user__username", "tag__name")) == [("nora", "fantasy")]
    page = client.get("/welcome/books/").content.decode()
    assert [f'"stars-{book.pk}"' in page for book in books[:4]] == [True, False, True, False]
    even = books[0:20:2]
    ratings = {f"stars-{book.pk}": "4.5" for book in even} | {"stars-x": "1", f"stars-{books[1].pk}": "9"}
    assert client.post("/welcome/books/", ratings).headers["Location"] == "/welcome/readers/"
    rated = ShelfEntry.objects.filter(user=nora, shelf=Shelf.READ, stars=9, finished_on=None)
    assert set(rated.values_list("book_id", flat=True)) == {book.pk for book in even}
    assert '<img class="avatar" src="/media/avatars/0-abc' in client.get("/welcome/readers/").content.decode()
    while Follow.objects.filter(follower=nora).count() < 5:
        action = FOLLOW.findall(client.get("/welcome/readers/").content.decode())[0]
        assert client.post(action, {"next": "/welcome/readers/"}).headers["Location"] == "/welcome/readers/"
    # One genre of three, and no import.
    assert "2 of 4 steps done" in client.get("/welcome/library/").content.decode()
    client.post("/welcome/genres/", {"genre": []})
    assert not ChosenGenre.objects.exists()
    assert "/welcome/" in client.get("/accounts/").content.decode()
    catch_up()
    front_page = client.get("/").content.decode()
    assert "Feed</h2>" in front_page
    assert "Get started" not in front_page
    ShelfEntry.objects.filter(user=nora, book=even[0]).delete()
    catch_up()
    assert "Get started" in client.get("/").content.decode()


def test_genres_with_nul_are_left_out(books: list[Book], client: Client) -> None:
    client.force_login(User.objects.create_user("nora"))
    assert client.post("/welcome/genres/", {"genre": ["a\0b"]}).status_code == 302


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_suggestions_leave_out_hidden_tags_known_books_and_readers_who_are_not_public(
    books: list[Book], way: str
) -> None:
    names = ("nora", "fan", "muted", "blocked", "blocking", "private", "followed", "author")
    town = {name: User.objects.create_user(name) for name in names}
    nora, today = town["nora"].pk, timezone.localdate()
    for name in names[1:-1]:
        rate_book(town[name].pk, books[0].pk, 10, today)
    create_post(town["author"].pk, "A post")
    people.mute(nora, town["muted"].pk)
    people.block(nora, town["blocked"].pk)
    people.block(town["blocking"].pk, nora)
    people.set_private(town["private"].pk, is_private=True)
    people.follow(nora, town["followed"].pk)
    people.follow(town["fan"].pk, town["author"].pk)
    rate_book(nora, books[2].pk, 8, today)
    choose_genres(nora, ["fantasy"])
    rebuild()
    catch_up()

    def collect() -> tuple[list[str], list[int], list[tuple[str, int, bool]]]:
        readers = [(one.person.name, one.followers, one.likes_genres) for one in suggest_followees(nora)]
        genres = [genre.name for genre in suggest_genres(nora)]
        return genres, [book["id"] for book in suggest_books(nora)], readers

    if way == "sql":
        with sql_only():
            found = collect()
    else:
        found = collect()
    shown = [book.pk for book in (books[0], *books[4:22:2])]
    assert found == (["fantasy", "crime"], shown, [("fan", 0, True), ("author", 1, False)])
    ChosenGenre.objects.all().delete()
    # Without genres, nobody's ratings tell anything about a new reader's taste.
    assert [(one.person.name, one.likes_genres) for one in suggest_followees(nora)] == [("author", False)]
