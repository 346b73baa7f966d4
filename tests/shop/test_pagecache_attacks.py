"""Attacks on the page cache through addresses, headers, cookies, hosts and broken entries."""

import re

import pytest
from django.middleware.csrf import _get_new_csrf_string, _mask_cipher_secret  # type: ignore[attr-defined]
from django.test import Client
from django.test.utils import override_settings

from accounts.models import User
from accounts.sessions import engine
from mirror.relay.drains import drain_all
from shop.models import Product
from shop.pagecache import rendering, store
from tests.support.servers import RedisServer
from tests.support.shop.page_cache import (
    Made,
    assert_alike,
    cached_pages,
    get_page,
    get_without_and_with_cache,
    made,
    page_path,
    product,
    warm_page_mirrors,
    without_tokens,
)

__all__ = ["made", "product"]
ADDRESS = re.compile(r'(?<=name="next" value=")[^"]*|(?<=next=)[^"]*')
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "odd", ["/books/0{pk}/", "/books/000{pk}/", "//books/{pk}/", "/books/{pk}", "/Books/{pk}/", "/books/{pk}/%ff"]
)
def test_other_spellings_of_an_address_are_not_cached(product: Product, server: RedisServer, odd: str) -> None:
    """Otherwise one book could be cached a hundred times."""
    assert_alike(get_without_and_with_cache(odd.format(pk=product.pk)))
    assert cached_pages(server) == []


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
def test_request_headers_of_one_visitor_do_not_affect_the_next(
    product: Product, made: Made, headers: dict[str, str]
) -> None:
    before = without_tokens(get_page(Client(), page_path(product), **{"Accept-Language": "en"}))
    store.clear_copies()
    assert_alike(get_without_and_with_cache(page_path(product), None, **headers))
    assert without_tokens(get_page(Client(), page_path(product), **{"Accept-Language": "en"})) == before
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
def test_any_query_is_answered_as_without_the_cache(product: Product, made: Made, query: str) -> None:
    """Forms of a stored page do not return to unknown parameters."""
    answers = get_without_and_with_cache(page_path(product) + query)
    assert_alike([(status, ADDRESS.sub("", page)) for status, page in answers])
    assert_alike(get_without_and_with_cache(page_path(product)))
    assert "<script>" not in answers[0][1].partition("?")[2][:20]


def test_other_spellings_of_a_host_are_not_cached(product: Product, server: RedisServer) -> None:
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        for host in ("TESTSERVER", "testserver.", "testserver:1", "testserver:2", "TestServer:80"):
            assert_alike(get_without_and_with_cache(page_path(product), Host=host))
        assert cached_pages(server) == []
        for host in ("testserver", "testserver:80"):
            assert_alike(get_without_and_with_cache(page_path(product), Host=host))
        assert len(cached_pages(server)) == 2


@pytest.mark.parametrize("raw", [b"", b"\x80\x04K\x01.", b"[]", b"[1,2,3,4,5]", b'[["a"],[],[],{},1e99,6]', b'{"a":1}'])
def test_a_broken_entry_on_the_cache_server_is_ignored(product: Product, server: RedisServer, raw: bytes) -> None:
    page = without_tokens(get_page(Client(), page_path(product)))
    (key,) = cached_pages(server)
    with server.client(1) as cache:
        cache.set(key, raw)
    store.clear_copies()
    assert without_tokens(get_page(Client(), page_path(product))) == page


def test_an_entry_of_another_type_on_the_cache_server_is_ignored(product: Product, server: RedisServer) -> None:
    page = without_tokens(get_page(Client(), page_path(product)))
    (key,) = cached_pages(server)
    with server.client(1) as cache:
        cache.delete(key)
        cache.rpush(key, "a")
    store.clear_copies()
    assert without_tokens(get_page(Client(), page_path(product))) == page


def test_a_full_cache_server_does_not_break_the_page(product: Product, server: RedisServer) -> None:
    with server.client(1) as cache:
        before = cache.config_get("maxmemory")["maxmemory"]
        cache.config_set("maxmemory", "1")
        try:
            assert_alike(get_without_and_with_cache(page_path(product)))
        finally:
            cache.config_set("maxmemory", before)


def test_a_title_like_a_token_stays_a_title(product: Product, made: Made) -> None:
    title = "<!--0:0--> {% csrf_token %} " + "a" * 64
    type(product.book).objects.filter(pk=product.pk).update(title=title)
    drain_all()
    pages = [get_page(Client(), page_path(product)) for _ in range(3)]
    for page in pages:
        assert "&lt;!--0:0--&gt; {% csrf_token %} " + "a" * 64 in page
    assert made.paths == [page_path(product)]


def test_only_tokens_of_the_secret_are_replaced() -> None:
    secret, other = _get_new_csrf_string(), _get_new_csrf_string()
    own = _mask_cipher_secret(secret)
    body = f'x{_mask_cipher_secret(other)} {"b" * 64} "{own}" {own}{"c" * 3} {"b" * 64}'
    before, _, after = body.partition(f'"{own}"')
    assert rendering.split_at_tokens(body, secret) == [before + '"', '"' + after]
    assert rendering.split_at_tokens(body, "") == [body]


def fails(*args: object, **kwargs: object) -> None:
    raise ValueError("a part of the page fails")


@pytest.mark.parametrize("who", ["", "alice"])
def test_an_error_in_a_template_affects_only_that_page(
    product: Product, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """As without the cache, nothing of the request stays behind in the thread."""
    client = Client()
    if who:
        client.force_login(User.objects.create_user(who))
        warm_page_mirrors()
    get_page(client, page_path(product))
    with monkeypatch.context() as patch:
        patch.setattr("social.template_functions.book_posts.get_posts_about", fails)
        Product.objects.filter(pk=product.pk).update(price=990)
        drain_all()
        answers = get_without_and_with_cache(page_path(product), client)
        assert [status for status, _ in answers] == [500] * 3
        assert engine.current_request.get() is None
    assert get_page(Client(), page_path(product))
    assert "€9.90" in get_page(client, page_path(product))
