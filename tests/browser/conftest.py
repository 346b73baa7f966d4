"""A real browser on the live site.

person      a page in a window of 1280 by 900, with JavaScript. At the end of its test: nothing was asked
            of another host, nothing was logged as an error, no policy was violated.
plain       the same without JavaScript.
open_page   makes such pages with other options (Playwright's own names).
audit       axe-core on a page: a list of what it finds wrong, in words.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core import management
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from catalog.models import Book, Tag
from tests.support.catalog.make import make_books, make_links
from tests.support.servers import wait_until
from tests.support.whole import SITE

FLAGS = [
    "--no-sandbox",  # tests run in containers, as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 60_000.0  # others have the processors too
expect.set_options(timeout=PATIENCE_MS)
OpenPage = Callable[..., Page]
Audit = Callable[[Page], list[str]]


def pytest_itemcollected(item: pytest.Item) -> None:
    """All tests in this folder are a browser's."""
    item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium (or Chrome) on PATH, or the one that CHROMIUM names."""
    names = ("chromium", "chromium-browser", "google-chrome")
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("no Chromium on PATH: the browser tests cannot run")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS, timeout=5 * PATIENCE_MS)
        yield chromium
        chromium.close()


@pytest.fixture
def all_answered() -> Iterator[None]:
    """In the end nobody is at work on a page that was asked for: what they write would be the next test's."""
    before = _connections()
    yield
    wait_until(lambda: _connections() <= before, "the end of all requests")


def _connections() -> set[threading.Thread]:
    """The site's threads: there is one for each connection, until the browser ends it."""
    return {thread for thread in threading.enumerate() if "process_request_thread" in thread.name}


@pytest.fixture
def open_page(browser: Browser, live_server: LiveServer, all_answered: None) -> Iterator[OpenPage]:
    """``open_page(color_scheme="dark", java_script_enabled=False, ...)``: a page in a window of its own."""
    wrong: list[str] = []
    contexts = []

    def note_request(request: Request) -> None:
        if not request.url.startswith((live_server.url + "/", "data:")):
            wrong.append(f"asked another host: {request.url}")

    def note_message(message: ConsoleMessage) -> None:
        # Refused pages are some tests' subject; Chromium reports each as a failed resource.
        if message.type == "error" and "the server responded with a status of 4" not in message.text:
            wrong.append(message.text)

    def make(**options: Any) -> Page:
        # Without motion nobody looks at a colour on its way to another one.
        still = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", "reduced_motion": "reduce"}
        options = still | options
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(PATIENCE_MS)
        context.on("request", note_request)
        context.on("console", note_message)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def person(open_page: OpenPage) -> Page:
    return open_page()


@pytest.fixture
def plain(open_page: OpenPage) -> Page:
    return open_page(java_script_enabled=False)


def settled(page: Page) -> None:
    """Wait until the page is read, with its styles and scripts, and htmx is done with what it has put there: shortly
    after it is there, htmx moves the focus, and only then its links and buttons are htmx's.
    """
    page.wait_for_load_state()
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling")).to_have_count(0)


@pytest.fixture(scope="session")
def audit() -> Audit:
    """What axe-core finds wrong with a page, one line for each thing."""
    axe = Axe()

    def findings(page: Page) -> list[str]:
        settled(page)
        found = axe.run(page).response["violations"]
        return [f"{v['id']}: {node['html'][:160]}: {node['failureSummary']}" for v in found for node in v["nodes"]]

    return findings


@pytest.fixture
def books(transactional_db: None) -> list[Book]:
    """Thirty books, whole in Redis: 25 of fantasy, the even ones of those young-adult too, five of history."""
    years = [None, *range(1991, 2020)]
    made = make_books(
        (Book(title=f"Book {n:02}", year=year, popularity=1000 - n, rating="4.25") for n, year in enumerate(years)),
        authors="Ursula Example",
    )
    make_links((book, "fantasy" if n < 25 else "history") for n, book in enumerate(made))
    make_links((book, "young-adult") for book in made[:25:2])
    Tag.objects.create(name="sci-fi")
    management.call_command("mirror", "rebuild", *SITE, verbosity=0)
    return made
