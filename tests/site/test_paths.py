"""Links and forms take their paths from the names of views, so that the site also works below a script prefix."""

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Final

import pytest
from django.conf import settings as site
from django.test import Client
from django.test.utils import override_script_prefix
from django.urls import NoReverseMatch, reverse
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Author, Book, Tag
from common.paths import make_path
from shop.models import Product
from social.services.posts import create_post
from tests.support.site.html import read_paths

APPS: Final = ("accounts", "catalog", "common", "config", "loginlog", "mirror", "shop", "social")
WRITTEN: Final = re.compile(
    r"""\b(?:href|src|action|formaction|hx-\w+|data-\w+|value|content|next_address)=\\?["']/[^"'>]*"""
)
# Files that may have paths as constants, with the reason.
FILES_WITH_PATHS: Final = {
    "common/middleware/policy.py": "the start of the admin's paths, compared without the script prefix",
    "common/web/well_known.py": "robots.txt names starts of paths, not pages",
    "config/checks.py": "a message names a page",
    "config/copies/databases.py": "folders of PostgreSQL's programs",
    "config/defaults/shop.py": "the default of a setting",
    "config/defaults/web.py": "the path of uploads, which the web server compares before Django does",
    "config/environment.py": "the file with the environment of production",
    "config/settings.py": "STATIC_URL and MEDIA_URL",
}
PREFIX: Final = "/bookshop/"


def _find_written_paths() -> Iterator[str]:
    files = (path for app in APPS for kind in ("html", "py") for path in (site.BASE_DIR / app).rglob(f"*.{kind}"))
    for path in files:
        for found in WRITTEN.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site.BASE_DIR)}: {found[0]}"


def test_no_path_of_the_site_is_written_out() -> None:
    assert list(_find_written_paths()) == []


def _find_path_constants() -> Iterator[tuple[str, str]]:
    for path in itertools.chain.from_iterable((site.BASE_DIR / app).rglob("*.py") for app in APPS):
        name = str(path.relative_to(site.BASE_DIR))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match("/[a-z]", node.value):
                yield name, node.value


def test_constants_with_paths_are_the_known_ones() -> None:
    assert {name for name, _ in _find_path_constants()} == set(FILES_WITH_PATHS)


@pytest.mark.parametrize(
    ("view", "arguments"),
    [("home", ()), ("catalog:book", (12,)), ("social:hashtag", ("读书",)), ("social:person", ("a b",))],
)
def test_path_equals_the_one_of_django(view: str, arguments: tuple[int | str, ...]) -> None:
    assert make_path(view, *arguments) == reverse(view, args=arguments)


def test_text_stays_one_part_of_the_path() -> None:
    assert make_path("social:person", "50%/é") == "/u/50%25%2F%C3%A9/"


@pytest.mark.parametrize(("view", "arguments"), [("nowhere", ()), ("catalog:book", ()), ("home", (1,))])
def test_path_of_an_unknown_view_is_refused(view: str, arguments: tuple[int, ...]) -> None:
    with pytest.raises(NoReverseMatch):
        make_path(view, *arguments)


@pytest.mark.django_db
def test_pages_below_a_script_prefix_link_to_pages_below_it(client: Client, settings: Settings) -> None:
    user, addresses = _make_content()
    settings.FORCE_SCRIPT_NAME = PREFIX.rstrip("/")
    wrong = []
    with override_script_prefix(PREFIX):
        for reader in (None, user):
            if reader is not None:
                client.force_login(reader)
            for address in addresses:
                response = client.get(address)
                assert response.status_code == 200, address
                paths = read_paths(response.content.decode())
                wrong += [(address, path) for path in paths if not path.startswith((PREFIX, site.STATIC_URL))]
    assert wrong == []


def _make_content() -> tuple[User, list[str]]:
    """Create rows with names of their own, because rendered cards are cached in the process."""
    user = User.objects.create_user("prefixed reader")
    book = Book.objects.create(title="A prefixed book", year=1990)
    author, tag = Author.objects.create(name="Prefixed Author"), Tag.objects.create(name="prefixed")
    book.authors.add(author)
    book.tags.add(tag)
    Product.objects.create(book=book, price=1000, stock=5)
    create_post(user.pk, "#prefixed and @alice", book_id=book.pk)
    return user, [
        "/", "/books/?q=prefixed", f"/books/{book.pk}/", f"/authors/{author.pk}/", "/search/?q=prefixed", "/global/",
        "/u/prefixed%20reader/", "/tags/prefixed/", "/shop/cart/", "/shop/sale/", "/accounts/leaderboard/", "/help/",
    ]  # fmt: skip
