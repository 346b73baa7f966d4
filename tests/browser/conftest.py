"""Fixtures for a real browser on the live site.

person      a page in a window of 1280 by 900 pixels, with JavaScript. Its test fails if the page requests another
            host, logs an error, or violates the content security policy.
plain       the same without JavaScript.
open_page   opens such pages with other options (named as in Playwright).
audit       checks one loaded page with axe-core and for overflows, on a phone and on a desktop. Returns findings.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Playwright, Request, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from catalog.models import Book, Tag
from tests.support.catalog.make import make_books, make_links
from tests.support.servers import wait_until
from tests.support.warm_mirrors import rebuild

FLAGS = [
    "--no-sandbox",  # tests run in containers, as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 60_000.0  # generous, because other tests use the processors too
expect.set_options(timeout=PATIENCE_MS)
WIDTHS = (390, 1280)  # a phone and a desktop
PHONE = {"width": 390, "height": 844}
PAPER: dict[Literal["light", "dark"], str] = {"light": "rgb(250, 246, 238)", "dark": "rgb(25, 23, 20)"}
Look = tuple[int, Literal["light", "dark"]]  # the width of the window in pixels, and the colour scheme
LOOKS: tuple[Look, ...] = ((390, "light"), (1280, "dark"))  # test_every_page.py checks the other two
OpenPage = Callable[..., Page]
Audit = Callable[..., list[str]]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all tests in this folder as browser tests."""
    item.add_marker("browser")


class Chromium:
    """Chromium or the browser named by CHROMIUM. It is shared by all tests of a process and replaced if it has died."""

    def __init__(self, playwright: Playwright, executable: str) -> None:
        self.type, self.executable = playwright.chromium, executable
        self.running: Browser | None = None

    def get_browser(self) -> Browser:
        """Return the running browser, and start one if none runs."""
        if self.running is None or not self.running.is_connected():
            self.running = self.type.launch(executable_path=self.executable, args=FLAGS, timeout=5 * PATIENCE_MS)
        return self.running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Prefer the headless shell, which needs a third less CPU."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("no Chromium on PATH: the browser tests cannot run")
    with sync_playwright() as playwright:
        chromium = Chromium(playwright, executable)
        yield chromium
        chromium.get_browser().close()


@pytest.fixture
def browser(chromium: Chromium) -> Browser:
    return chromium.get_browser()


@pytest.fixture
def all_answered() -> Iterator[None]:
    """Wait for the end of all requests, so that their writes do not reach the next test."""
    before = _connections()
    yield
    wait_until(lambda: _connections() <= before, "the end of all requests")


def _connections() -> set[threading.Thread]:
    """Return the threads of the live server: one per connection, until the browser closes it."""
    return {thread for thread in threading.enumerate() if "process_request_thread" in thread.name}


@pytest.fixture
def open_page(browser: Browser, live_server: LiveServer, all_answered: None) -> Iterator[OpenPage]:
    """Return ``open_page(color_scheme="dark", java_script_enabled=False, ...)``, which opens a page in a new window."""
    wrong: list[str] = []
    contexts = []

    def note_request(request: Request) -> None:
        if not request.url.startswith((live_server.url + "/", "data:")):
            wrong.append(f"asked another host: {request.url}")

    def note_message(message: ConsoleMessage) -> None:
        # Some tests provoke refusals, which Chromium reports as failed resources.
        if message.type == "error" and "the server responded with a status of 4" not in message.text:
            page = message.page
            wrong.append(f"{page.url} {page.viewport_size}: {message.text}" if page else message.text)

    def make(**options: Any) -> Page:
        # Without animations, no check meets a colour in transition.
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
    """Wait until the page and its resources are loaded and htmx has finished.

    Shortly after swapping content, htmx moves the focus; only then do new links and buttons work through htmx.
    """
    page.wait_for_load_state()
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling")).to_have_count(0)


def tab_to(page: Page, target: Locator, *, key: str = "Tab", most: int = 60) -> None:
    """Press Tab (or ``key``) until the target has the focus, at most ``most`` times."""
    settled(page)
    expect(target).to_be_visible()
    for _ in range(most):
        page.keyboard.press(key)
        if target.evaluate("target => target === document.activeElement"):
            return
    focused = page.evaluate("document.activeElement.outerHTML.slice(0, 160)")
    raise AssertionError(f"{key} does not reach {target} in {most} steps, but {focused}")


def read_paper(page: Page) -> str:
    """Return the background colour of the page."""
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


def resize(page: Page, width: int) -> None:
    """Set the width of the window in pixels."""
    page.set_viewport_size({"width": width, "height": 900})
    wait_until(lambda: bool(page.evaluate("innerWidth") == width), f"a window {width} pixels wide")


def find_overflows(page: Page, widths: Iterable[int]) -> list[str]:
    """Return a line for each of these window widths at which the page is wider. The window keeps the last width."""
    found = []
    for width in widths:
        resize(page, width)
        if (actual := page.evaluate("document.documentElement.scrollWidth")) > width:
            found.append(f"{width}: the page is {actual} pixels wide")
    return found


@pytest.fixture(scope="session")
def audit() -> Audit:
    """Return ``audit(page, looks=LOOKS)``, which lists violations and overflows with width and scheme.

    foreign: rules that the layout of a library breaks, which also has colours of its own. without: elements to leave
    out.
    """
    script = Axe().axe_script
    options = {"resultTypes": ["violations"], "selectors": False}  # computing selectors takes half of the time
    command = "([context, options]) => axe.run(context, options).then(results => results.violations)"

    def find_violations(
        page: Page, looks: Iterable[Look] = LOOKS, *, foreign: Iterable[str] = (), without: Iterable[str] = ()
    ) -> list[str]:
        settled(page)
        page.evaluate(script)
        found = []
        for width, scheme in looks:
            found += find_overflows(page, [width])
            page.emulate_media(color_scheme=scheme)
            if not foreign and read_paper(page) != PAPER[scheme]:
                found.append(f"{width} {scheme}: the page is in another scheme")
            left_out = {rule: {"enabled": False} for rule in foreign}
            context = {"include": [["html"]], "exclude": [[selector] for selector in without]}
            for rule in page.evaluate(command, [context, options | {"rules": left_out}]):
                lines = (f"{node['html'][:160]}: {node['failureSummary']}" for node in rule["nodes"])
                found += [f"{width} {scheme}: {rule['id']}: {line}" for line in lines]
        return found

    return find_violations


@pytest.fixture
def books(transactional_db: None) -> list[Book]:
    """Create thirty books in warm mirrors: 25 with fantasy, 13 of these also with young-adult, five with history."""
    years = [None, *range(1991, 2020)]
    made = make_books(
        (Book(title=f"Book {n:02}", year=year, popularity=1000 - n, rating="4.25") for n, year in enumerate(years)),
        authors="Ursula Example",
    )
    make_links((book, "fantasy" if n < 25 else "history") for n, book in enumerate(made))
    make_links((book, "young-adult") for book in made[:25:2])
    Tag.objects.create(name="sci-fi")
    rebuild()
    return made
