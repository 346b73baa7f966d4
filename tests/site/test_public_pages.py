"""Every public page is the same with and without the page cache, whoever asked before, and however."""

import re
from collections.abc import Iterator, Mapping

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django.urls import resolve

from accounts.models import User
from catalog.local.index import local_copy
from common.public_pages import find_declaration
from mirror.relay.drains import drain_all
from shop.book_views import decay
from shop.pagecache import readers, store
from social.models import Post
from tests.support.matrix.addresses import find_addresses
from tests.support.matrix.world import MatrixWorld
from tests.support.servers import PATIENCE_SECONDS, RedisServer
from tests.support.shop.page_cache import WITHOUT, Made, cached_pages, made, without_tokens
from tests.support.social.timelines import warm_up

__all__ = ["made"]
pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = re.compile(r'(?<=name="next" value=")[^"]*|(?<=next=)[^"]*')  # where a form or a link leads back to
CLOCK = re.compile(r'data-left="\d+"|\d\d:\d\d:\d\d|"(as_of|seconds_left)":[\d.]+')
# What a visitor without a session may send.
STRANGERS: list[Mapping[str, str]] = [
    {},
    {"Accept-Language": "zh-hans"},
    {"Cookie": "theme=dark"},
    {"Cookie": f"{settings.LANGUAGE_COOKIE_NAME}=zh-hans; theme=<script>; csrftoken=x"},
    {"Cookie": "theme=light; reader=1; taste=sweet", "Accept-Language": "de, zh"},
    {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"},
    {"Accept": "application/json"},
    {"HX-Request": "true"},
    {"If-None-Match": '"*"', "Range": "bytes=0-10"},
    {"Cookie": "messages=forged"},
    {"Cookie": "mirror_behind=1"},
]


@pytest.fixture
def world() -> MatrixWorld:
    """A site with warm mirrors, one row of each kind and readers who block one another."""
    world = MatrixWorld()
    warm_up(world.owner)
    assert decay.rebuild_popularity()
    drain_all()
    assert local_copy.ensure_loaded(PATIENCE_SECONDS)
    return world


def find_public_paths(world: MatrixWorld) -> Iterator[str]:
    """Yield the path of each public page, and of its second page."""
    for address in find_addresses(world):
        if address.is_of_admin:
            continue
        declared = find_declaration(resolve(address.path).func)
        if declared is not None:
            yield address.path
            if "after" in declared.parameters:
                yield f"{address.path}?after=3&utm_source=mail"


def show(client: Client, path: str, headers: Mapping[str, str], method: str = "GET") -> tuple[int, str, str, str]:
    """Return what a visitor sees: status, content, language and the headers that the response varies by."""
    response = client.generic(method, path, headers=dict(headers))
    page = CLOCK.sub("", ADDRESS.sub("", without_tokens(response.content.decode(errors="replace"))))
    varies = ", ".join(sorted(set(response.get("Vary", "").split(", ")) - {"Cookie"}))
    return response.status_code, page, response.get("Content-Language", ""), varies


def new_client(user: User | None = None) -> Client:
    client = Client(raise_request_exception=False)
    if user is not None:
        client.force_login(user)
    return client


@pytest.mark.slow(20)
def test_strangers_see_what_they_see_without_the_cache(world: MatrixWorld, server: RedisServer, made: Made) -> None:
    """First from the view, then from a page that is rendered, from a copy, and from the cache server."""
    paths = list(find_public_paths(world))
    assert len(paths) > 15
    for path in paths:
        for headers in STRANGERS:
            with override_settings(MIDDLEWARE=WITHOUT):
                plain = show(new_client(), path, headers)
            for _ in range(2):
                assert show(new_client(), path, headers) == plain, (path, headers)
            store.clear_copies()
            assert show(new_client(), path, headers) == plain, (path, headers)
            status, content, *_ = show(new_client(), path, headers, "HEAD")
            assert (status, content) == (plain[0], ""), (path, headers)
    stored = {resolve(path).view_name for path in made.paths}
    assert stored >= {"home", "catalog:list", "author", "shop:sale", "social:global", "social:person", "social:post"}
    assert cached_pages(server)


@pytest.mark.slow(20)
def test_readers_see_what_they_see_without_the_cache(world: MatrixWorld) -> None:
    """Also a blocked and a muted reader, and staff; and the pages of strangers stay theirs."""
    people = [world.owner, world.other, world.muted, world.blocked, world.staff]
    clients = {user: new_client(user) for user in people}
    drain_all()
    for path in find_public_paths(world):
        stranger = show(new_client(), path, {})
        for user, client in clients.items():
            with override_settings(MIDDLEWARE=WITHOUT):
                plain = show(client, path, {})
            # The second one has the reads that the first one made, and those of the reader before.
            for _ in range(2):
                assert show(client, path, {}) == plain, (path, user)
            # Feeds do not name their visitor.
            assert user.username in plain[1] or plain[0] == 404 or path.endswith("/feed/"), (path, user)
        assert show(new_client(), path, {}) == stranger, path
        readers.clear_caches()


def test_stored_pages_hold_nothing_of_a_reader(world: MatrixWorld, server: RedisServer) -> None:
    """No cart, token or private text, though readers asked first."""
    reader = new_client(world.owner)
    drain_all()
    for path in find_public_paths(world):
        reader.get(path)
        new_client().get(path)
    found = cached_pages(server)
    assert found
    with server.client(1) as cache:
        for key in found:
            raw = cache.get(key).decode().replace('\\"', '"')
            assert "/accounts/logout/" not in raw
            assert 'class="cart-count"' not in raw
            assert not re.search(r'name="csrfmiddlewaretoken" value="\w', raw)
            assert not re.search(r"xq(mail|wanted|name|address|order|hidden|device)", raw)


def test_a_hidden_post_leaves_the_stored_pages(world: MatrixWorld) -> None:
    post = Post.objects.create(user=world.other, text="An endless book.")
    drain_all()
    path = f"/posts/{post.pk}/"
    for address in (path, "/global/", "/", f"/u/{world.other.username}/"):
        assert "An endless book." in new_client().get(address).content.decode()
    post.is_hidden = True
    post.save()
    drain_all()
    assert new_client().get(path).status_code == 404
    for address in ("/global/", "/", f"/u/{world.other.username}/"):
        assert "An endless book." not in new_client().get(address).content.decode()


def test_a_page_that_is_not_canonical_is_not_stored(world: MatrixWorld, server: RedisServer) -> None:
    for path in ("/books/01/", "/books", "/Books/", f"/u/{'x' * 300}/"):
        new_client().get(path)
        assert cached_pages(server) == []
