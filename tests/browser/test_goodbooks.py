"""A catalogue in goodbooks format in a real browser: the pages show the books that the files name."""

from itertools import islice
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Page

from tests.browser.conftest import PATIENCE_MS
from tests.support import real_data, samples
from tests.support.catalog.goodbooks import read_tagged
from tests.support.stack import copy_of_the_site
from tests.support.whole import SITE

HISTORY = 2000  # lines


def check_pages(page: Page, folder: Path) -> None:
    """All pages of a query together show each book once that has both tags, and their number."""
    tagged = read_tagged(folder)
    expected = tagged["fantasy"] & tagged["young-adult"]
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
    assert len(shown) == len(set(shown))
    assert set(shown) == expected


@pytest.mark.django_db(transaction=True)
def test_the_pages_show_the_books_that_the_sample_names(plain: Page) -> None:
    call_command("import_goodbooks", str(samples.GOODBOOKS), "--json")
    call_command("mirror", "rebuild", *SITE, verbosity=0)
    check_pages(plain, samples.GOODBOOKS)


@pytest.fixture
def real_files(tmp_path: Path) -> Path:
    """The real catalogue whole, and the beginning of its readers' history (all of it takes minutes)."""
    for name in ("books.csv", "tags.csv", "book_tags.csv"):
        (tmp_path / name).symlink_to(real_data.GOODBOOKS / name)
    for name in ("to_read.csv", "ratings.csv"):
        with (real_data.GOODBOOKS / name).open(encoding="utf-8") as file:
            (tmp_path / name).write_text("".join(islice(file, HISTORY)), encoding="utf-8")
    return tmp_path


@pytest.mark.real_data
@pytest.mark.slow(80)
def test_the_demo_on_the_real_files_shows_the_books_that_they_name(browser: Browser, real_files: Path) -> None:
    with copy_of_the_site() as site:
        site.start("demo", DATA=str(real_files))
        page = browser.new_page(base_url=f"http://127.0.0.1:{site.port}", java_script_enabled=False)
        page.set_default_timeout(PATIENCE_MS)
        check_pages(page, real_files)
        page.close()
