"""Serve a book's page from the page cache, and count how often it is rendered."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from redis import Redis

from mirror.relay.drains import drain_all
from shop import keys
from shop.models import Product
from shop.pagecache import rendering
from tests.support.servers import RedisServer
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

MIRRORS = (
    "cart", "notification", "user", "session", "book", "book_details", "tag_vote", "product", "recommendation", "shun",
    "post", "like", "rated_post", "ranked_review", "book_posts", "shelf_entry", "listed_book", "reading_list", "follow",
    "stock_alert",
)  # fmt: skip
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([A-Za-z0-9]{64})"')
WITHOUT = [name for name in settings.MIDDLEWARE if not name.startswith("shop.pagecache")]
ONCE = re.compile(r'name="key" value="[^"]+"')  # the one-time key of a form


@dataclass
class Made:
    """The paths of the pages that were rendered for the page cache, in order."""

    paths: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.paths)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Record every rendering of a page for the page cache."""
    made, make = Made(), rendering.render_page

    def counted(asked: Any, *rest: Any) -> Any:
        made.paths.append(asked.http.path)
        return make(asked, *rest)

    monkeypatch.setattr(rendering, "render_page", counted)
    return made


@pytest.fixture
def product(transactional_db: None, redis: Redis, made: Made) -> Product:
    """Return a product with a viewed page; all mirrors of the page are warm."""
    product = make_product("The Book of Sand", price=1250, stock=7)
    product.book.tags.create(name="fantasy")
    warm_page_mirrors()
    redis.zadd(keys.popularity(), {str(product.pk): -3})
    return product


def warm_page_mirrors() -> None:
    """Rebuild and drain all mirrors of the page."""
    rebuild(MIRRORS)
    drain_all()


def page_path(product: Product) -> str:
    """Return the path of the product's page."""
    return f"/books/{product.pk}/"


def get_page(client: Client, path: str, **headers: str) -> str:
    """Return the page as text, after checking its status."""
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def without_tokens(page: str) -> str:
    """Return the page without tokens and keys that differ in each response."""
    return ONCE.sub("", TOKEN.sub("", page))


def cached_pages(server: RedisServer) -> list[bytes]:
    """Return the keys of the pages on the cache server."""
    with server.client(1) as client:
        return [key for key in client.keys("*cache:*") if not key.endswith(b":lock")]


def get_without_and_with_cache(path: str, client: Client | None = None, **headers: str) -> list[tuple[int, str]]:
    """Return (status, page) of three requests: without the page cache, with it, and with it again."""
    found = []
    for names in (WITHOUT, settings.MIDDLEWARE, settings.MIDDLEWARE):
        same = Client(raise_request_exception=False)
        if client:
            same.cookies = client.cookies
        with override_settings(MIDDLEWARE=names):
            answer = same.get(path, headers=headers)
        found.append((answer.status_code, without_tokens(answer.content.decode())))
    return found


def assert_alike(answers: list[tuple[int, str]]) -> None:
    assert answers[0] == answers[1] == answers[2]
