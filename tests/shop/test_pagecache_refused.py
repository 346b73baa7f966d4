"""Never cached: undeclared pages and responses with personal content."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from pytest_django.fixtures import Settings

from accounts.models import User
from mirror.relay.drains import drain_all
from shop.models import Product
from shop.pagecache import middleware
from tests.support.servers import RedisServer
from tests.support.shop.page_cache import Made, cached_pages, get_page, made, product, warm_page_mirrors
from tests.support.shop.pagecache_urls import VIEWS

__all__ = ["made", "product"]
pytestmark = pytest.mark.django_db(transaction=True)


# Each of these shows the same to all visitors without a session.
PUBLIC_VIEWS = {
    *("home", "about", "help", "privacy", "terms", "imprint", "returns", "accounts:leaderboard", "shop:sale"),
    *("catalog:list", "catalog:book", "catalog:series", "author"),
    *("social:global", "social:hashtag", "social:book_posts", "social:author_posts", "social:person", "social:post"),
    *("reviews:book", "social:book_feed", "social:author_feed", "social:person_feed", "social:shelf_feed"),
}


@pytest.fixture
def own_pages(settings: Settings) -> None:
    """Add the pages of ``pagecache_urls``."""
    settings.ROOT_URLCONF = "tests.support.shop.pagecache_urls"


def test_one_line_declares_a_cached_page(product: Product, made: Made, own_pages: None, server: RedisServer) -> None:
    for _ in range(2):
        assert "The Book of Sand" in get_page(Client(), f"/pages/well/{product.pk}/")
    assert len(made) == len(cached_pages(server)) == 1


@pytest.mark.parametrize("name", VIEWS)
def test_personal_responses_are_served_but_not_cached(
    product: Product,
    made: Made,
    own_pages: None,
    server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(middleware, "REFUSED_SECONDS", 3600.0)
    answers = [Client().get(f"/pages/{name}/{product.pk}/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404 if name == "is_an_error" else 200] * 3
    assert cached_pages(server) == []
    assert len(made) == 1  # it is tried once, not in each request
    assert "cannot be remembered" in caplog.text


def test_only_declared_pages_are_rendered_for_the_cache(product: Product, made: Made) -> None:
    """Request every URL of the site anonymously, as a user and as a superuser, and the front page of the admin."""
    alice, boss = User.objects.create_user("alice"), User.objects.create_superuser("boss")
    warm_page_mirrors()
    kinds = [Client(), Client()]
    kinds[0].force_login(alice)
    kinds[1].force_login(boss)
    drain_all()
    addresses = [address for address in all_addresses(product, alice) if "logout" not in address]
    assert len(addresses) > 40
    for address in addresses:
        # A stranger is new each time, because some pages begin a session.
        for client in (Client(), *kinds):
            assert client.get(address).status_code < 500, address
    assert {resolve(path).view_name for path in made.paths} == PUBLIC_VIEWS


def all_addresses(product: Product, user: User) -> Iterator[str]:
    """Yield all URLs of the site, with example arguments."""
    for pattern in get_resolver().url_patterns:
        if not (isinstance(pattern, URLResolver) and pattern.app_name == "admin"):
            yield from _addresses(pattern, "/", {"pk": product.pk, "book_id": product.pk, "name": user.username})
    yield "/admin/"


def _addresses(pattern: URLPattern | URLResolver, start: str, values: dict[str, object]) -> Iterator[str]:
    route = start + str(pattern.pattern)
    if isinstance(pattern, URLResolver):
        for each in pattern.url_patterns:
            yield from _addresses(each, route, values)
        return
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        value = values.get(name, product_like(kind, values))
        route = route.replace(f"<{kind}:{name}>", str(value)).replace(f"<{name}>", str(value))
    yield route


def product_like(kind: str, values: dict[str, object]) -> object:
    """Return an example of an argument."""
    return values["pk"] if kind == "int" else values["name"]
