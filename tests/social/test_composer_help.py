"""What helps to write a post: attaching a book, and completing the names of readers."""

import re

import pytest
from django.test import Client

from accounts.models import User
from social.models import Block, Post
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("Ann B")


@pytest.fixture
def client(ann: User) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def list_choices(html: str) -> list[str]:
    """Return the values of the books to choose from."""
    return re.findall(r'type="radio" name="book" value="(\d*)"', html)


def test_a_search_without_scripts_keeps_the_text_and_offers_books(client: Client) -> None:
    emma, other = make_book("Emma", authors="Jane Austen"), make_book("Persuasion", authors="Jane Austen")
    rebuild()
    form = {"text": "so good", "note": "n", "book_search": "austen", "find": "1"}
    found = client.post("/posts/", form)
    assert found.status_code == 200
    html = found.content.decode()
    assert sorted(list_choices(html)) == sorted(["", str(emma.pk), str(other.pk)])
    assert "so good" in html
    assert 'value="austen"' in html
    assert not Post.objects.exists()
    # The books are those of other words, or the author searches again.
    chosen = {**form, "book": emma.pk, "shown_search": "austen"}
    for fields in ({**chosen, "book_search": "persuasion", "find": ""}, chosen):
        assert client.post("/posts/", fields).status_code == 200
    assert not Post.objects.exists()
    del chosen["find"]
    client.post("/posts/", {**chosen, "book_search": " austen "})
    post = Post.objects.get()
    assert (post.text, post.note, post.book_id) == ("so good", "n", emma.pk)


def test_the_next_post_is_not_about_the_chosen_book(client: Client) -> None:
    book = make_book("Emma")
    rebuild()
    form = {"text": "so good", "book_search": "emma", "shown_search": "emma", "book": book.pk}
    posted = client.post("/posts/", form, headers={"HX-Request": "true"}).content.decode()
    assert Post.objects.get().book_id == book.pk
    assert f'name="book" value="{book.pk}"' not in posted
    assert 'name="book_search"' in posted


def test_a_forgotten_choice_is_asked_for_and_no_book_is_one(client: Client) -> None:
    make_book("Emma")
    rebuild()
    refused = client.post("/posts/", {"text": "so good", "book_search": "emma"})
    assert "Choose one of these books" in refused.content.decode()
    assert not Post.objects.exists()
    client.post("/posts/", {"text": "so good", "book_search": "emma", "shown_search": "emma", "book": ""})
    assert Post.objects.get().book_id is None


def test_an_empty_search_posts(client: Client) -> None:
    client.post("/posts/", {"text": "so good", "book_search": "  ", "find": "1"})
    assert not Post.objects.exists()
    client.post("/posts/", {"text": "so good", "book_search": "  "})
    assert Post.objects.get().text == "so good"


def test_a_refused_post_keeps_the_chosen_book(client: Client) -> None:
    book = make_book("Emma")
    rebuild()
    refused = client.post("/posts/", {"text": "", "book_search": "emma", "shown_search": "emma", "book": book.pk})
    assert refused.status_code == 400
    assert f'name="book" value="{book.pk}" checked' in refused.content.decode()


def test_suggestions_of_books_are_a_part_of_the_form(client: Client) -> None:
    book = make_book("Emma")
    rebuild()
    found = client.get("/posts/books/?book_search=ema").content.decode()
    assert list_choices(found) == [str(book.pk), ""]
    assert "No book found." in client.get("/posts/books/?book_search=zzzz").content.decode()
    assert client.get("/posts/books/").content.strip() == b""


def list_names(client: Client, typed: str) -> list[str]:
    """Return the suggested names."""
    return re.findall('data-name="(.*?)"', client.get("/people/names/", {"q": typed}).content.decode())


def test_names_with_blanks_are_completed(client: Client) -> None:
    for name in ("Bo Lindqvist", "Bo Li", "Lindbo", "Zoë K"):
        User.objects.create_user(name)
    rebuild()
    assert sorted(list_names(client, "bo li")) == ["Bo Li", "Bo Lindqvist"]
    assert list_names(client, "Bo Lind") == ["Bo Lindqvist"]
    # A text that goes on after a name is none.
    assert list_names(client, "Bo Lindqvist is") == []
    assert list_names(client, "ZOË") == ["Zoë K"]


def test_names_of_blocked_and_inactive_readers_are_not_completed(client: Client, ann: User) -> None:
    bob, bodo, boris = (User.objects.create_user(name) for name in ("bob", "bodo", "boris"))
    Block.objects.create(blocker=ann, blocked=bob)
    Block.objects.create(blocker=bodo, blocked=ann)
    User.objects.filter(pk=boris.pk).update(is_active=False)
    rebuild()
    assert list_names(client, "bo") == []


@pytest.mark.parametrize("path", ["/people/names/?q=bo", "/posts/books/?book_search=emma"])
def test_strangers_are_asked_to_log_in(path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 302
    assert "/accounts/login/" in response["Location"]


def test_each_page_with_a_composer_has_its_script(client: Client) -> None:
    emma = make_book("Emma", authors="Jane Austen")
    rebuild()
    for path in ("/home/", f"/books/{emma.pk}/", f"/books/{emma.pk}/posts/"):
        html = client.get(path).content.decode()
        assert 'id="say"' in html
        assert "composer" in "".join(re.findall(r'<script src="([^"]+)"', html)), path
    assert "composer" not in Client().get(f"/books/{emma.pk}/").content.decode()
