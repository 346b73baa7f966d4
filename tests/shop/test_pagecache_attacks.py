"""Who wants to break the page cache: by addresses, headers, cookies, broken entries, and what changes under it."""

import re

import pytest
from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from redis import Redis

from accounts import sessions
from accounts.models import User
from catalog.models import Book
from mirror.relay import drain_all
from shop.models import Product
from shop.pagecache import store
from tests.servers import RedisServer
from tests.shop.cached import Made, made, pages, path_of, plain, product, text, warm

__all__ = ["made", "product"]
pytestmark = pytest.mark.django_db(transaction=True)
WITHOUT = [name for name in settings.MIDDLEWARE if not name.startswith("shop.pagecache")]


def by_both(path: str, client: Client | None = None, **headers: str) -> list[tuple[int, str]]:
    """What is answered without the cache, with it, and with it once more: the status and the page."""
    found = []
    for names in (WITHOUT, settings.MIDDLEWARE, settings.MIDDLEWARE):
        same = Client(raise_request_exception=False)
        if client:
            same.cookies = client.cookies
        with override_settings(MIDDLEWARE=names):
            answer = same.get(path, headers=headers)
        found.append((answer.status_code, plain(answer.content.decode())))
    return found


def assert_alike(answers: list[tuple[int, str]]) -> None:
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    "odd", ["/books/0{pk}/", "/books/000{pk}/", "//books/{pk}/", "/books/{pk}", "/Books/{pk}/", "/books/{pk}/%ff"]
)
def test_other_spellings_of_an_address_make_no_pages(product: Product, server: RedisServer, odd: str) -> None:
    """Else one book could be remembered a hundred times."""
    assert_alike(by_both(odd.format(pk=product.pk)))
    assert pages(server) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Range": "bytes=0-10"},
        {"If-None-Match": "*"},
        {"If-Modified-Since": "Wed, 21 Oct 2099 07:28:00 GMT"},
        {"Accept": "text/html;q=0,application/json"},
        {"Accept": ""},
        {"Accept": "\x00"},
        {"Accept-Language": "zh-hans;q=" + "9" * 500},
        {"Accept-Language": "../../etc/passwd"},
        {"Accept-Encoding": "br"},
        {"X-HTTP-Method-Override": "DELETE"},
        {"X-Forwarded-Host": "evil.example"},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Prefix": "/evil"},
        {"X-Original-URL": "/admin/"},
        {"Forwarded": "host=evil.example"},
        {"Sec-Purpose": "prefetch"},
        {"Cookie": "theme=<script>; django_language=<script>; sessionid=x; csrftoken=x"},
        {"Cookie": "messages=x; sessionid=" + "é" * 32},
        {"Cookie": "cart_behind=1; sessionid=" + "a" * 32},
    ],
    ids=lambda headers: str(headers)[:40],
)
def test_what_one_visitor_sends_changes_nothing_for_the_next(
    product: Product, made: Made, headers: dict[str, str]
) -> None:
    before = plain(text(Client(), path_of(product), **{"Accept-Language": "en"}))
    store.forget()
    assert_alike(by_both(path_of(product), None, **headers))
    assert plain(text(Client(), path_of(product), **{"Accept-Language": "en"})) == before
    assert "evil" not in before


@pytest.mark.parametrize(
    "query",
    [
        "?" + "a&" * 1500,
        "?csrfmiddlewaretoken=x",
        "?%ff=%ff",
        "?a=%00",
        "?next=//evil.example",
        "?explain=1",
        "?language=zh-hans",
        "?<script>",
    ],
)
def test_no_query_is_answered_otherwise_than_without_the_cache(product: Product, made: Made, query: str) -> None:
    answers = by_both(path_of(product) + query)
    assert_alike(answers)
    assert_alike(by_both(path_of(product)))
    assert "<script>" not in answers[0][1].partition("?")[2][:20]


def test_other_spellings_of_a_host_make_no_pages(product: Product, server: RedisServer) -> None:
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        for host in ("TESTSERVER", "testserver.", "testserver:1", "testserver:2", "TestServer:80"):
            assert_alike(by_both(path_of(product), Host=host))
        assert pages(server) == []
        for host in ("testserver", "testserver:80"):
            assert_alike(by_both(path_of(product), Host=host))
        assert len(pages(server)) == 2


@pytest.mark.parametrize("raw", [b"", b"\x80\x04K\x01.", b"[]", b"[1,2,3,4,5]", b'[["a"],[],[],{},1e99,6]', b'{"a":1}'])
def test_a_broken_entry_on_the_cache_server_is_no_page(product: Product, server: RedisServer, raw: bytes) -> None:
    page = plain(text(Client(), path_of(product)))
    (key,) = pages(server)
    with server.client(1) as cache:
        cache.set(key, raw)
    store.forget()
    assert plain(text(Client(), path_of(product))) == page


def test_an_entry_of_another_type_on_the_cache_server_is_no_page(product: Product, server: RedisServer) -> None:
    page = plain(text(Client(), path_of(product)))
    (key,) = pages(server)
    with server.client(1) as cache:
        cache.delete(key)
        cache.rpush(key, "a")
    store.forget()
    assert plain(text(Client(), path_of(product))) == page


def test_a_cache_server_that_is_full_is_no_fault_of_the_page(product: Product, server: RedisServer) -> None:
    with server.client(1) as cache:
        before = cache.config_get("maxmemory")["maxmemory"]
        cache.config_set("maxmemory", "1")
        try:
            assert_alike(by_both(path_of(product)))
        finally:
            cache.config_set("maxmemory", before)


def fails(*args: object, **kwargs: object) -> None:
    raise ValueError("a hole fails")


@pytest.mark.parametrize("who", ["", "alice"])
def test_a_hole_that_fails_is_an_error_of_that_page_alone(
    product: Product, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """And as without the cache: nothing of the request stays behind in the thread."""
    client = Client()
    if who:
        client.force_login(User.objects.create_user(who))
        warm()
    text(client, path_of(product))
    with monkeypatch.context() as patch:
        patch.setattr("social.templatetags.said.posts_about", fails)
        Product.objects.filter(pk=product.pk).update(price=990)
        drain_all()
        answers = by_both(path_of(product), client)
        assert [status for status, _ in answers] == [500] * 3
        assert sessions.current.get() is None
    assert text(Client(), path_of(product))
    assert "€9.90" in text(client, path_of(product))


def test_who_is_deactivated_is_a_stranger_on_the_next_page(product: Product) -> None:
    client, user = Client(), User.objects.create_user("alice")
    client.force_login(user)
    warm()
    for _ in range(2):
        assert "alice" in text(client, path_of(product))
    User.objects.filter(pk=user.pk).update(is_active=False)
    drain_all()
    for _ in range(2):
        page = text(client, path_of(product))
        assert "alice" not in page
        assert "composer" not in re.sub(r"<script.*?</script>", "", page)


def test_who_has_become_staff_elsewhere_has_another_token_and_the_link(product: Product) -> None:
    client, user = Client(), User.objects.create_user("alice")
    client.force_login(user)
    warm()
    assert "/admin/" not in text(client, path_of(product))
    User.objects.filter(pk=user.pk).update(is_staff=True)
    drain_all()
    was = client.cookies["sessionid"].value
    for _ in range(2):
        assert 'href="/admin/"' in text(client, path_of(product))
    assert client.cookies["sessionid"].value != was
    assert "/admin/" not in text(Client(), path_of(product))


def test_a_book_that_is_deleted_and_one_of_the_same_number(product: Product, redis: Redis) -> None:
    text(Client(), path_of(product))
    pk = product.pk
    product.delete()
    Book.objects.filter(pk=pk).delete()
    drain_all()
    assert_alike(by_both(f"/books/{pk}/"))
    Book.objects.create(pk=pk, title="Another", popularity=1)
    drain_all()
    assert_alike(by_both(f"/books/{pk}/"))
    assert "<h1>Another</h1>" in text(Client(), f"/books/{pk}/")
