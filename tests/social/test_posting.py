"""Creating posts: stored rows, repeated submissions and refusals."""

import json
from threading import Barrier, Thread
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from mirror.middleware import COOKIE
from mirror.models import Change
from mirror.redis.recorder import record
from social import keys
from social.models import Hashtag, Mention, Post, Pulled
from social.services.posts import create_post, delete_post
from tests.social.small_town import Visitor
from tests.support.catalog.make import make_book
from tests.support.social.timelines import make_users

JSON = "application/json"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(client: Client) -> User:
    """Create a logged-in reader."""
    user = make_users("alice")[0]
    client.force_login(user)
    return user


def errors(*args: Any, **kwargs: Any) -> dict[str, list[str]]:
    """Return the errors of a refused post."""
    with pytest.raises(ValidationError) as raised:
        create_post(*args, **kwargs)
    return raised.value.message_dict


def test_a_post_is_created(client: Client, alice: User) -> None:
    response = client.post("/posts/", {"text": "Reading *Emma*. Again."})
    assert (response.status_code, response.headers["Location"]) == (302, "/home/")
    made = Post.objects.get()
    assert (made.user, made.text, made.book, made.is_pulled) == (alice, "Reading *Emma*. Again.", None, False)


def test_visitors_are_redirected_to_the_login_page(client: Client) -> None:
    response = client.post("/posts/", {"text": "hello"})
    assert response.headers["Location"].startswith("/accounts/login/?next=/accounts/resume/")
    refused = client.post("/posts/", {"text": "hello"}, headers={"Accept": JSON})
    assert (refused.status_code, refused.json()) == (401, {"error": {"message": "Log in first."}})
    assert not Post.objects.exists()


def test_the_form_needs_its_token(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/posts/", {"text": "hello"}).status_code == 403
    assert not Post.objects.exists()


def test_the_redirect_stays_within_the_site(client: Client, alice: User) -> None:
    for given, to in (("/books/7/", "/books/7/"), ("https://evil.example/", "/home/"), ("//evil.example", "/home/")):
        assert client.post("/posts/", {"text": "hello", "next": given}).headers["Location"] == to


def test_get_requests_redirect_to_the_form(client: Client, alice: User) -> None:
    assert client.get("/posts/").headers["Location"] == "/home/"


@pytest.mark.parametrize("as_json", [True, False])
def test_json_is_answered_with_the_record(client: Client, alice: User, as_json: bool) -> None:
    book = make_book("Emma")
    given = {"text": "Of #Emma, says @alice", "book": book.pk, "key": "k1"}
    sent: Any = {"data": json.dumps(given), "content_type": JSON} if as_json else {"data": given}
    response = client.post("/posts/", **sent, headers={"Accept": JSON})
    made = Post.objects.get()
    assert response.status_code == 201
    assert response.headers["Location"] == f"/posts/{made.pk}/"
    said = response.json()
    assert said.pop("time").endswith("Z")
    assert said == {
        "id": made.pk,
        "user": {"id": alice.pk, "name": "alice", "avatar": ""},
        "is_private": False,
        "kind": "post",
        "stars": None,
        "text": "Of #Emma, says @alice",
        "book": {"id": book.pk, "title": "Emma", "cover": "", "design": ""},
        "mentions": ["alice"],
        "edited": None,
        "note": "",
        "reply_to": None,
        "likes": 0,
        "replies": 0,
        "is_liked": False,
    }
    assert client.get(f"/posts/{made.pk}/", headers={"Accept": JSON}).json()["text"] == said["text"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": ""}, "text"),
        ({}, "text"),
        ({"text": " \u200b "}, "text"),
        ({"text": "x" * 501}, "text"),
        ({"text": "ok", "book": "987654321"}, "book"),
        ({"text": "ok", "book": "nonsense"}, "book"),
        ({"text": "ok", "book": "9" * 30}, "book"),
        ({"text": "ok", "key": "x" * 65}, "key"),
        ({"text": "ok", "key": "a b"}, "key"),
    ],
)
def test_an_error_names_its_field(client: Client, alice: User, given: dict[str, str], field: str) -> None:
    for more in ({"data": given}, {"data": json.dumps(given), "content_type": JSON}):
        response = client.post("/posts/", **more, headers={"Accept": JSON})
        assert response.status_code == 400
        assert response.json()["error"]["field"] == field
        assert response.json()["error"]["message"]
    assert not Post.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (" ", "text"),
        ("[1]", "text"),
        ("{", "text"),
        ('{"text": 7}', "text"),
        ('{"text": null}', "text"),
        ('{"text": "ok", "key": 7}', "key"),
        ('{"text": "ok", "book": true}', "book"),
        ('{"text": "ok", "book": {"id": 1}}', "book"),
    ],
)
def test_json_of_wrong_types_is_refused(client: Client, alice: User, body: str, field: str) -> None:
    response = client.post("/posts/", body, content_type=JSON)
    assert (response.status_code, response.json()["error"]["field"]) == (400, field)


def test_a_refused_form_keeps_its_input(client: Client, alice: User) -> None:
    text = "\n<b>" + "x" * 500
    whole = client.post("/posts/", {"text": text, "next": "/global/"})
    part = client.post("/posts/", {"text": text, "next": "/global/"}, headers={"HX-Request": "true"})
    for response in (whole, part):
        html = response.content.decode()
        assert response.status_code == 400
        assert "The text has 503 characters. The maximum is 500: remove 3." in html
        assert "\n\n&lt;b&gt;xxx" in html
        assert 'value="/global/"' in html
        assert 'aria-invalid="true"' in html
    assert b"<html" in whole.content
    assert b"<html" not in part.content


def test_htmx_gets_the_card_and_an_empty_form(client: Client, alice: User) -> None:
    html = client.post("/posts/", {"text": "hello <b>"}, headers={"HX-Request": "true"}).content.decode()
    assert 'hx-swap-oob="afterbegin:#posts"' in html
    assert "hello &lt;b&gt;" in html
    assert "<textarea" in html
    assert ">hello" not in html.split("</form>")[0]
    assert '<p class="sr-only" role="status">Your post was published.</p>' in html.split("</form>")[0]
    assert "Your post was published." not in client.get("/home/").content.decode()
    assert f'href="/posts/{Post.objects.get().pk}/delete/"' in html


@pytest.mark.parametrize("what", ["post", "delete"])
def test_the_second_of_two_clicks_shows_the_result_of_the_first(
    client: Client, alice: User, settings: Settings, what: str
) -> None:
    """The browser drops the first answer and its cookie, while Redis does not have the write yet."""
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0}
    path, form = "/posts/", {"text": "hello", "key": "once"}
    if what == "delete":
        path, form = f"/posts/{create_post(alice.pk, 'hello').pk}/delete/", {}
    for _ in range(2):
        response = client.post(path, form)
        assert response.headers["Location"] == "/home/"
        assert client.cookies.pop(COOKIE).value
    assert Post.objects.exists() == (what == "post")


def test_a_repeated_form_creates_one_post(client: Client, alice: User) -> None:
    for text in ("hello", "hello", "other"):
        assert client.post("/posts/", {"text": text, "key": "once"}).status_code == 302
    assert [made.text for made in Post.objects.all()] == ["hello"]
    again = client.post("/posts/", {"text": "hello", "key": "once"}, headers={"Accept": JSON})
    assert (again.status_code, again.json()["id"]) == (201, Post.objects.get().pk)


def test_authors_may_use_equal_keys() -> None:
    alice, bob = make_users("alice", "bob")
    assert create_post(alice.pk, "a", key="k").pk != create_post(bob.pk, "b", key="k").pk


def test_concurrent_posts_with_one_key_are_one_post() -> None:
    (alice,) = make_users("alice")
    start, made = Barrier(6), list[int]()

    def say() -> None:
        try:
            start.wait()
            made.append(create_post(alice.pk, "hello @alice #now", key="once").pk)
        finally:
            connection.close()

    threads = [Thread(target=say) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [Post.objects.get().pk] * 6
    assert (Mention.objects.count(), Hashtag.objects.count()) == (1, 1)


def test_one_key_within_a_transaction_is_one_post() -> None:
    (alice,) = make_users("alice")
    with transaction.atomic():
        assert create_post(alice.pk, "a", key="k").pk == create_post(alice.pk, "a", key="k").pk
    assert Post.objects.count() == 1


def test_a_failure_leaves_no_part_of_a_post(monkeypatch: pytest.MonkeyPatch) -> None:
    (alice,) = make_users("alice")
    monkeypatch.setattr("social.services.posts.find_mentions", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create_post(alice.pk, "hello #tag")
    assert not Post.objects.exists()
    assert not Hashtag.objects.exists()
    assert not Change.objects.filter(mirror="post").exists()


@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_the_record_reaches_redis_before_the_windows() -> None:
    (alice,) = make_users("alice")
    book = make_book("Emma")
    with record() as seen:
        made = create_post(alice.pk, "hello #tag @alice", book_id=book.pk)
    written = [c.named()[0] for c in seen.commands if c.name in ("MSET", "ZADD", "EVALSHA")]
    assert written[0] == keys.post(made.pk)
    windows = {keys.book_posts(book.pk), keys.global_timeline(), keys.hashtag("tag"), keys.mentions_of(alice.pk)}
    assert windows < set(written)
    with record() as seen:
        Visitor().request(lambda: delete_post(made.pk, by=alice.pk))
    assert next(c for c in seen.commands if c.name == "DEL").named() == [keys.post(made.pk)]


def test_errors_of_the_service_name_their_field() -> None:
    (alice,) = make_users("alice")
    assert list(errors(alice.pk, "")) == ["text"]
    assert list(errors(alice.pk, "ok", key="a b")) == ["key"]
    assert errors(alice.pk, "ok", book_id=987654321) == {"book": ["Book not found."]}


def test_a_post_stores_whether_it_is_pulled() -> None:
    alice, bob = make_users("alice", "bob")
    Pulled.objects.create(user=alice, state=Pulled.State.ON)
    Pulled.objects.create(user=bob, state=Pulled.State.TURNING)
    assert create_post(alice.pk, "a").is_pulled
    assert not create_post(bob.pk, "b").is_pulled
