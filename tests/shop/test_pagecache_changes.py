"""Changes while pages are cached: users, books, time-dependent prices, code and translations."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from catalog.models import Book
from common import clock
from mirror.relay.drains import drain_all
from shop.models import Product
from shop.pagecache import code_version, requests, store
from tests.support.servers import PATIENCE_SECONDS
from tests.support.shop.make import make_sale
from tests.support.shop.page_cache import (
    Made,
    assert_alike,
    get_page,
    get_without_and_with_cache,
    made,
    page_path,
    product,
    warm_page_mirrors,
    without_tokens,
)

__all__ = ["made", "product"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_deactivated_user_is_anonymous_on_the_next_page(product: Product) -> None:
    client, user = Client(), User.objects.create_user("alice")
    client.force_login(user)
    warm_page_mirrors()
    for _ in range(2):
        assert "alice" in get_page(client, page_path(product))
    User.objects.filter(pk=user.pk).update(is_active=False)
    drain_all()
    for _ in range(2):
        page = get_page(client, page_path(product))
        assert "alice" not in page
        assert "composer" not in re.sub(r"<script.*?</script>", "", page)


def test_a_new_staff_member_gets_a_new_token_and_the_admin_link(product: Product) -> None:
    client, user = Client(), User.objects.create_user("alice")
    client.force_login(user)
    warm_page_mirrors()
    assert "/admin/" not in get_page(client, page_path(product))
    User.objects.filter(pk=user.pk).update(is_staff=True)
    drain_all()
    was = client.cookies["sessionid"].value
    for _ in range(2):
        assert 'href="/admin/"' in get_page(client, page_path(product))
    assert client.cookies["sessionid"].value != was
    assert "/admin/" not in get_page(Client(), page_path(product))


def test_a_new_book_with_a_deleted_books_id_has_its_own_page(product: Product, redis: Redis) -> None:
    get_page(Client(), page_path(product))
    pk = product.pk
    product.delete()
    Book.objects.filter(pk=pk).delete()
    drain_all()
    assert_alike(get_without_and_with_cache(f"/books/{pk}/"))
    Book.objects.create(pk=pk, title="Another", popularity=1)
    drain_all()
    assert_alike(get_without_and_with_cache(f"/books/{pk}/"))
    assert '<h1 dir="auto">Another</h1>' in get_page(Client(), f"/books/{pk}/")


def shows(client: Client, path: str, what: str) -> bool:
    return what in get_page(client, path)


def test_the_start_of_a_sale_shows_without_any_write(product: Product, made: Made, settings: Settings) -> None:
    now = clock.now()
    settings.CLOCK = lambda: now
    alice = Client()
    alice.force_login(User.objects.create_user("alice"))
    make_sale(product, price=990, starts_in=2 / 3600)
    warm_page_mirrors()
    for seconds, is_on_sale in ((0, False), (1.9, False), (2.1, True)):
        settings.CLOCK = lambda seconds=seconds: now + timedelta(seconds=seconds)
        for client in (Client(), alice):
            assert shows(client, page_path(product), "€9.90") is is_on_sale
    assert len(made) == 2


def test_changed_code_has_its_own_pages(product: Product, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (b"one", b"other", b"one"):
        monkeypatch.setattr(requests, "get_code_version", lambda code=code: code)
        get_page(Client(), page_path(product))
    assert len(made) == 2


def test_a_changed_translation_has_its_own_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_version, "_list_app_folders", lambda: [tmp_path])
    found = set()
    for name, content in (
        ("django.mo", "a"),
        ("django.mo", "b"),
        ("page.html", "b"),
        ("code.py", "b"),
        ("notes.md", "b"),
    ):
        (tmp_path / name).write_text(content)
        code_version._clear_version()
        found.add(code_version.get_code_version())
    code_version._clear_version()
    assert len(found) == 4  # notes are not part of the site


def test_simultaneous_first_requests_read_the_sources_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[bytes] = []
    (tmp_path / "code.py").write_text("a")
    everybody = threading.Barrier(8)

    def content(file: Path) -> bytes:
        reads.append(file.read_bytes())
        time.sleep(0.1)  # until the others have arrived
        return reads[-1]

    def come() -> bytes:
        everybody.wait(PATIENCE_SECONDS)
        return code_version.get_code_version()

    monkeypatch.setattr(code_version, "_list_app_folders", lambda: [tmp_path])
    monkeypatch.setattr(code_version, "_hash_file", content)
    code_version._clear_version()
    with ThreadPoolExecutor(8) as pool:
        found = [one.result(PATIENCE_SECONDS) for one in [pool.submit(come) for _ in range(8)]]
    code_version._clear_version()
    assert (len(set(found)), reads) == (1, [b"a"])


def test_installed_packages_do_not_count_as_sources(settings: Settings) -> None:
    settings.BASE_DIR = Path("/")  # contains all packages, like an environment inside the project's folder
    own = {folder.name for folder in code_version._list_app_folders()}
    assert {"accounts", "catalog", "common", "config", "loginlog", "mirror", "search", "shop", "social"} < own
    assert "mirrortest" in own
    assert own.isdisjoint({"django", "unfold", "site-packages"})


@pytest.mark.parametrize("who", ["", "alice"])
def test_a_declared_page_is_served_to_all_visitors(product: Product, made: Made, settings: Settings, who: str) -> None:
    settings.ROOT_URLCONF = "tests.support.shop.pagecache_urls"
    client = Client()
    if who:
        client.force_login(User.objects.create_user(who))
        warm_page_mirrors()
    for ask in (client.get, client.head, client.get):
        for path in (f"/pages/well/{product.pk}/", page_path(product)):
            assert ask(path).status_code == 200


def test_a_page_too_large_for_a_copy_is_cached_on_the_server(
    product: Product, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_COPY_BYTES", 10)
    first = without_tokens(get_page(Client(), page_path(product)))
    for _ in range(2):
        assert without_tokens(get_page(Client(), page_path(product))) == first
    assert (len(made), len(store._copies)) == (1, 0)
