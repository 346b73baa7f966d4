"""The Redis server of the state hangs and the cache server works: book pages answer correctly within a second."""

from urllib.request import build_opener

import pytest
from django.test import Client
from redis import Redis

from accounts.models import User
from shop import keys
from shop.models import Product
from tests.support.faults.crew import Crew
from tests.support.faults.web import Web
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.make import make_product
from tests.support.shop.page_cache import page_path, warm_page_mirrors

pytestmark = pytest.mark.slow
CACHE = 1  # the number of the cache's database


@pytest.fixture
def products(transactional_db: None, redis_server: RedisServer) -> list[Product]:
    """Create two products that rank among the most viewed."""
    found = [make_product(title, price=1250, stock=7) for title in ("The Book of Sand", "The Book of Stone")]
    warm_page_mirrors()
    with redis_server.client() as state:
        state.zadd(keys.popularity(), {str(product.pk): -3 for product in found})
    return found


@pytest.fixture
def web(products: list[Product], broker_server: RedisServer, crew: Crew) -> Web:
    """Start the site with a separate cache server."""
    crew.environment["CACHE_URL"] = broker_server.url(CACHE)
    return Web(crew)


def remembered(cache: Redis) -> list[str]:
    """Return the keys of the pages on the cache server."""
    return [key for key in map(str, cache.keys("*cache:*")) if ":lock" not in key]


@pytest.mark.parametrize("name", ["", "alice"])
def test_stored_and_other_pages_answer_within_a_second(
    web: Web, products: list[Product], redis_server: RedisServer, broker_server: RedisServer, name: str
) -> None:
    """Pages of strangers are stored, those of readers are not."""
    if name:
        client = Client()
        client.force_login(User.objects.create_user(name))
        warm_page_mirrors()
        web.visitor = build_opener()
        web.visitor.addheaders = [("Cookie", f"sessionid={client.cookies['sessionid'].value}")]
    one, other = products
    with broker_server.client(CACHE) as cache:
        for _ in range(2):
            assert "€12.50" in web.fetch(page_path(one))
        if not name:
            wait_until(lambda: web.fetch(page_path(one)) and len(remembered(cache)) == 1, "a stored page")
        stored = len(remembered(cache))
        redis_server.freeze()
        Product.objects.filter(pk=one.pk).update(price=990)  # cannot reach the hung Redis
        for product, price in ((one, "€9.90"), (other, "€12.50"), (one, "€9.90")):
            page = web.ask(page_path(product))
            assert f'<h1 dir="auto">{product.book.title}</h1>' in page
            assert price in page
            assert ("/accounts/logout/" in page) == bool(name)
            assert not name or name in page
        assert len(remembered(cache)) == stored
        redis_server.thaw()
        if not name:
            wait_until(lambda: web.fetch(page_path(other)) and len(remembered(cache)) == 2, "another stored page")
