"""The pages of an imported catalogue show exactly the books of its files."""

from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import call_command
from playwright.sync_api import Page

from tests.support import samples
from tests.support.catalog.goodbooks import read_tagged
from tests.support.warm_mirrors import SITE


def check_pages(page: Page, folder: Path) -> None:
    """Check that the pages of a query together show each book that has both tags once, and their number."""
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
        with page.expect_navigation():  # a click does not wait for the next page
            more.click()
    assert len(shown) == len(set(shown))
    assert set(shown) == expected


@pytest.mark.django_db(transaction=True)
def test_pages_show_the_books_of_the_files(plain: Page) -> None:
    call_command("import_goodbooks", str(samples.GOODBOOKS), "--books-only", "--json")
    call_command("mirror", "rebuild", *SITE, verbosity=0)
    check_pages(plain, samples.GOODBOOKS)
