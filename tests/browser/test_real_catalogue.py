"""``make demo DATA=...`` with the real files, in a real browser: the page shows what the files say."""

import csv
import unicodedata
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from playwright.sync_api import Browser

from tests.browser.conftest import PATIENCE_MS
from tests.support.stack import copy_of_the_site

REAL = settings.BASE_DIR.parent / "shared" / "data" / "goodbooks"
HISTORY = 2000  # lines

pytestmark = [
    pytest.mark.slow(80),
    pytest.mark.skipif(not REAL.is_dir(), reason=f"the real files are not in {REAL.relative_to(REAL.parents[3])}"),
]


def folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def books_with_all(folder: Path, *names: str) -> set[int]:
    """The ids of the books that have all these tags, read from the files and from nothing else."""
    with (folder / "books.csv").open(encoding="utf-8", newline="") as file:
        ids = {row["goodreads_book_id"]: int(row["book_id"]) for row in csv.DictReader(file)}
    with (folder / "tags.csv").open(encoding="utf-8", newline="") as file:
        tags = {row["tag_id"]: folded(row["tag_name"]) for row in csv.DictReader(file)}
    found: dict[str, set[int]] = {name: set() for name in names}
    with (folder / "book_tags.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, book = tags.get(row["tag_id"]), ids.get(row["goodreads_book_id"])
            if name in found and book is not None:
                found[name].add(book)
    return set.intersection(*found.values())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The real catalogue whole, and the beginning of what its readers did (all of it takes minutes)."""
    for name in ("books.csv", "tags.csv", "book_tags.csv"):
        (tmp_path / name).symlink_to(REAL / name)
    for name in ("to_read.csv", "ratings.csv"):
        with (REAL / name).open(encoding="utf-8") as file:
            (tmp_path / name).write_text("".join(islice(file, HISTORY)), encoding="utf-8")
    return tmp_path


def test_the_demo_on_the_real_files_shows_the_books_that_the_files_say(browser: Browser, files: Path) -> None:
    expected = books_with_all(REAL, "fantasy", "young-adult")
    assert expected
    with copy_of_the_site() as site:
        site.start("demo", DATA=str(files))
        page = browser.new_page(base_url=f"http://127.0.0.1:{site.port}", java_script_enabled=False)
        page.set_default_timeout(PATIENCE_MS)
        page.goto("/books/?q=" + quote("fantasy & young-adult"))
        assert page.locator("#results").inner_text().split()[0].replace(",", "") == str(len(expected))
        shown: list[int] = []
        while True:
            links = page.locator("ol.cards > li a[href^='/books/']:not([href*='?'])")
            hrefs = [str(link.get_attribute("href")) for link in links.all()]
            shown += dict.fromkeys(int(href.strip("/").rpartition("/")[2]) for href in hrefs)
            more = page.locator("a[rel=next]")
            if not more.count():
                break
            with page.expect_navigation():  # a click does not wait until the next page is read
                more.click()
        page.close()
    assert len(shown) == len(set(shown))
    assert set(shown) == expected
