"""No visitor sees data of another, and all forms work: ten users and an anonymous visitor, over real HTTP."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from itertools import combinations
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest
from django.db import connections
from django.middleware.csrf import _does_token_match  # type: ignore[attr-defined]
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from mirror.relay.drains import drain_all
from shop.models import Product
from social.models import Post
from tests.support.servers import PATIENCE_SECONDS, RedisServer
from tests.support.shop.page_cache import TOKEN, Made, cached_pages, made, page_path, product, warm_page_mirrors

__all__ = ["made", "product"]
pytestmark = pytest.mark.django_db(transaction=True)
KEY = re.compile(r'name="key" value="([^"]+)"')
TIMES = 12  # requests of each visitor, all at the same time
NAMES = ["ada", "bert", "cleo", "dora", "emil", "fay", "gus", "hal", "ida", "jon"]


class _Stays(HTTPRedirectHandler):
    """Do not follow redirects."""

    def redirect_request(self, *args: object) -> None:
        return None


@dataclass
class Person:
    """A visitor with a browser that keeps cookies and runs no scripts. name: "" for an anonymous one."""

    url: str
    name: str
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        """Return the status and the page."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        request = Request(self.url + path, urlencode(form).encode() if form else None, {"Cookie": cookies})
        try:
            answer = build_opener(_Stays).open(request, timeout=PATIENCE_SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            for header in answer.headers.get_all("Set-Cookie", []):
                for name, morsel in SimpleCookie(header).items():
                    self.cookies[name] = morsel.value
                    if morsel["max-age"] == "0" or not morsel.value:
                        del self.cookies[name]
            return answer.status, answer.read().decode()


@pytest.fixture
def people(product: Product, live_server: LiveServer) -> Iterator[list[Person]]:
    """Ten logged-in users and one anonymous visitor."""
    found = [Person(live_server.url, "")]
    for name in NAMES:
        client = Client()
        client.force_login(User.objects.create_user(f"reader {name}"))
        found.append(Person(live_server.url, f"reader {name}", {"sessionid": client.cookies["sessionid"].value}))
    warm_page_mirrors()
    yield found
    connections.close_all()


def test_no_page_shows_data_of_another_visitor(
    people: list[Person], product: Product, made: Made, server: RedisServer
) -> None:
    """Each visitor adds a different number of copies with the form of the cached page and gets a message on the next
    page; then all request the page at the same time, several times.
    """
    for number, person in enumerate(people, start=1):
        _, page = person.ask(page_path(product))
        form = {"csrfmiddlewaretoken": TOKEN.findall(page)[0], "product": str(product.pk), "quantity": str(number)}
        assert person.ask("/shop/cart/", form)[0] == 303 if number <= 7 else 400
    drain_all()
    with ThreadPoolExecutor(len(people)) as pool:
        shown = list(pool.map(lambda person: [person.ask(page_path(product)) for _ in range(TIMES)], people))
    secrets = [person.cookies["csrftoken"] for person in people]
    assert len(set(secrets)) == len(people)
    for number, (person, answers) in enumerate(zip(people, shown, strict=True), start=1):
        assert all(status == 200 for status, _ in answers)
        assert sum("has-message" in marks_of(page) for _, page in answers) == (number <= 7)
        for _, page in answers:
            assert {name for name in NAMES if f"reader {name}" in page} == ({person.name[7:]} if person.name else set())
            assert copies_in(page) == (number if number <= 7 else 0)
            assert ("/accounts/logout/" in page) == bool(person.name)
            assert not any(other in page for other in secrets)
            for token in TOKEN.findall(page):
                assert [secret for secret in secrets if _does_token_match(token, secret)] == [
                    person.cookies["csrftoken"]
                ]
    assert_stored_is_nobodys(server, people)
    assert len(made) == 1


def marks_of(page: str) -> set[str]:
    """Return {"has-message"} if the page shows a message, else an empty set."""
    return {"has-message"} if '<div class="notes"' in page else set()


def copies_in(page: str) -> int:
    """Return the number at the cart link."""
    link = re.search(r'<a [^>]*id="cart-link".*?</a>', page)
    assert link
    found = re.search(r">\(?(\d+)\b", link[0])
    return int(found[1]) if found else 0


def assert_stored_is_nobodys(server: RedisServer, people: list[Person]) -> None:
    """Check that the cache server has no name, cart, token or secret."""
    with server.client(1) as client:
        for key in cached_pages(server):
            raw = client.get(key).decode()
            assert not any(name in raw for name in NAMES)
            assert not any(value in raw for person in people for value in person.cookies.values())
            assert not TOKEN.search(raw.replace('\\"', '"'))
            assert copies_in(raw.replace('\\"', '"')) == 0
            assert not re.search(r"[A-Za-z0-9]{64}", raw)


@pytest.mark.parametrize("who", ["", "reader ada"])
def test_a_cached_form_works_with_the_visitors_own_token_only(people: list[Person], product: Product, who: str) -> None:
    one = next(person for person in people if person.name == who)
    other = next(person for person in people if person.name == "reader jon")
    tokens = [TOKEN.findall(person.ask(page_path(product))[1])[0] for person in (one, other)]
    form = {"product": str(product.pk), "quantity": "1"}
    assert one.ask("/shop/cart/", form)[0] == 403
    assert one.ask("/shop/cart/", {**form, "csrfmiddlewaretoken": tokens[1]})[0] == 403
    assert one.ask("/shop/cart/", {**form, "csrfmiddlewaretoken": tokens[0]})[0] == 303


def test_each_served_page_has_a_different_token_of_one_secret(people: list[Person], product: Product) -> None:
    """As without the cache. Equal tokens in compressed pages could be guessed."""
    stranger = people[0]
    tokens = [TOKEN.findall(stranger.ask(page_path(product))[1])[0] for _ in range(4)]
    assert all(one != other for one, other in combinations(tokens, 2))
    assert all(_does_token_match(token, stranger.cookies["csrftoken"]) for token in tokens)


def test_the_form_for_a_post_has_a_new_token_and_key_each_time(people: list[Person], product: Product) -> None:
    """The text around them is cached by book and language."""
    rest, keys = set(), []
    for person in (*people[1:3], people[1]):
        form = re.search(r'<form class="composer.*?</form>', person.ask(page_path(product))[1], re.DOTALL)
        assert form
        (token,), (key,) = TOKEN.findall(form[0]), KEY.findall(form[0])
        assert _does_token_match(token, person.cookies["csrftoken"])
        rest.add(form[0].replace(token, "").replace(key, ""))
        keys.append(key)
        sent = {"csrfmiddlewaretoken": token, "key": key, "book": str(product.pk), "text": f"Sand, {key}."}
        assert person.ask("/posts/", sent)[0] in (302, 303)
    assert (len(rest), len(set(keys))) == (1, 3)
    assert set(Post.objects.values_list("text", flat=True)) == {f"Sand, {key}." for key in keys}


def test_a_visitor_is_anonymous_after_the_logout(people: list[Person], product: Product) -> None:
    ada = people[1]
    _, page = ada.ask(page_path(product))
    assert ada.ask("/accounts/logout/", {"csrfmiddlewaretoken": TOKEN.findall(page)[0]})[0] in (302, 303)
    _, page = ada.ask(page_path(product))
    assert "reader ada" not in page
    assert "/accounts/login/" in page


def test_an_ended_session_is_anonymous(people: list[Person], product: Product) -> None:
    """Its cookie is deleted, as by any other page."""
    ada = people[1]
    ada.ask(page_path(product))
    user = User.objects.get(username="reader ada")
    user.set_password("another one")
    user.save()
    drain_all()
    assert "reader ada" not in ada.ask(page_path(product))[1]
