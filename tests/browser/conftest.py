"""Fixtures for a real browser on the live site.

person      a page in a window of 1280 by 900 pixels, with JavaScript. Its test fails if the page requests another
            host, logs an error, or violates the content security policy.
plain       the same without JavaScript.
open_page   opens such pages with other options (named as in Playwright). Tests share windows: a test that changes more
            than cookies, storage, size and media (a clock, routes, scripts) asks for one of its own: ``reuse=False``.
audit       checks one loaded page with axe-core and for overflows, on a phone and on a desktop. Returns findings.
"""

import os
import shutil
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal
from weakref import WeakSet

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Playwright,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)
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
    "--js-flags=--no-opt,--no-maglev",  # documents live too briefly for optimized code to pay
]
AXE: str = Axe().axe_script
PATIENCE_MS = 60_000.0  # generous, because other tests use the processors too
expect.set_options(timeout=PATIENCE_MS)
WIDTHS = (390, 1280)  # a phone and a desktop
PHONE: ViewportSize = {"width": 390, "height": 844}
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
        self.idle: defaultdict[str, list[Window]] = defaultdict(list)  # by the options that cannot be changed

    def get_browser(self) -> Browser:
        """Return the running browser, and start one if none runs."""
        if self.running is None or not self.running.is_connected():
            self.running = self.type.launch(executable_path=self.executable, args=FLAGS, timeout=5 * PATIENCE_MS)
            self.idle.clear()
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


@pytest.fixture(scope="session")
def connected(live_server: LiveServer) -> WeakSet[socket.socket]:
    """Collect the connections of the live server."""
    sockets: WeakSet[socket.socket] = WeakSet()
    server: Any = live_server.thread.httpd
    accept = server.process_request

    def process_request(connection: socket.socket, address: Any) -> None:
        sockets.add(connection)
        accept(connection, address)

    server.process_request = process_request
    return sockets


@pytest.fixture
def all_answered(connected: WeakSet[socket.socket]) -> Iterator[None]:
    """Wait for the end of all requests, so that their writes do not reach the next test."""
    before = _threads()
    yield
    for connection in [*connected]:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RD)  # its thread answers what it has received and ends
    wait_until(lambda: _threads() <= before, "the end of all requests")


def _threads() -> set[threading.Thread]:
    """Return the threads of the live server, one per connection."""
    return {thread for thread in threading.enumerate() if "process_request_thread" in thread.name}


class Window:
    """A page in a browser context of its own. wrong: what its test must not cause."""

    def __init__(self, browser: Browser, url: str, options: dict[str, Any]) -> None:
        self.url, self.wrong = url, list[str]()
        self.context = browser.new_context(base_url=url, **options)
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.on("request", self._note_request)
        self.context.on("console", self._note_message)
        self.context.add_init_script(f"window.loadAxe = () => {{ {AXE} }};")  # compiled when it is called
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.url + "/", "data:")):
            self.wrong.append(f"asked another host: {request.url}")

    def _note_message(self, message: ConsoleMessage) -> None:
        # Some tests provoke refusals, which Chromium reports as failed resources.
        if message.type == "error" and "the server responded with a status of 4" not in message.text:
            page = message.page
            self.wrong.append(f"{page.url} {page.viewport_size}: {message.text}" if page else message.text)

    def is_emptied(self) -> bool:
        """Leave the page and forget its visitor. The process of the page, and the files that it has read, remain."""
        try:
            self.page.goto("/static/favicon.svg")
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
            self.context.clear_cookies()
        except Error:  # a test has closed the page, or it has crashed
            return False
        return True


# Without animations, no check meets a colour in transition.
CHANGEABLE: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 900},
    "color_scheme": "light",
    "reduced_motion": "reduce",
    "forced_colors": "none",
}
MEDIA: Final = ("color_scheme", "reduced_motion", "forced_colors")


@pytest.fixture
def open_page(chromium: Chromium, live_server: LiveServer, all_answered: None) -> Iterator[OpenPage]:
    """Return ``open_page(color_scheme="dark", java_script_enabled=False, ...)``, which opens a page in a window."""
    browser = chromium.get_browser()
    used: list[tuple[str, Window]] = []

    def make(*, reuse: bool = True, **options: Any) -> Page:
        options = CHANGEABLE | {"locale": "en-GB"} | options
        kind = repr(sorted((name, value) for name, value in options.items() if name not in CHANGEABLE))
        if reuse and chromium.idle[kind]:
            window = chromium.idle[kind].pop()
            window.page.set_viewport_size(options["viewport"])
            window.page.emulate_media(**{name: options[name] for name in MEDIA})
        else:
            window = Window(browser, live_server.url, options)
        used.append((kind if reuse else "", window))
        return window.page

    yield make
    wrong = [line for _, window in used for line in window.wrong]
    for kind, window in used:
        if kind and not wrong and window.is_emptied():
            chromium.idle[kind].append(window)
        else:
            window.context.close()
    assert wrong == []


@pytest.fixture
def person(open_page: OpenPage) -> Page:
    return open_page()


@pytest.fixture
def plain(open_page: OpenPage) -> Page:
    return open_page(java_script_enabled=False)


def settled(page: Page) -> None:
    """Wait until the page and its resources are loaded and htmx has finished."""
    page.wait_for_load_state()
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling")).to_have_count(0)


def open_own_menu(page: Page) -> Locator:
    """Open the menu of the logged-in reader in the header, and return it."""
    page.get_by_role("banner").get_by_role("button", name="Menu of").click()
    return page.locator("#own-menu")


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
    if page.viewport_size and page.viewport_size["width"] == width:
        return
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


@contextmanager
def text_size(page: Page, percent: int) -> Iterator[None]:
    """Set the size of text as a reader does in the browser's settings. Media queries in ``rem`` follow it.

    Other pages of the browser have this size, too.
    """
    session = page.context.new_cdp_session(page)

    def set_to(percent: int) -> None:
        sizes = {"standard": 16 * percent // 100, "fixed": 13 * percent // 100}
        session.send("Page.setFontSizes", {"fontSizes": sizes})

    set_to(percent)
    try:
        yield
    finally:
        set_to(100)


@pytest.fixture(scope="session")
def audit() -> Audit:
    """Return ``audit(page, looks=LOOKS)``, which lists violations and overflows with width and scheme.

    foreign: rules that the layout of a library breaks, which also has colours of its own. without: elements to leave
    out.
    """
    command = Path(__file__).with_name("audit.js").read_text()
    passed: set[str] = set()

    def find_violations(
        page: Page, looks: Iterable[Look] = LOOKS, *, foreign: Iterable[str] = (), without: Iterable[str] = ()
    ) -> list[str]:
        settled(page)
        if not page.evaluate("'loadAxe' in window && (loadAxe(), true)"):  # without JavaScript, nothing else ran
            page.evaluate(AXE)
        found = []
        for width, scheme in looks:
            page.emulate_media(color_scheme=scheme)
            found += find_overflows(page, [width])
            if not foreign and read_paper(page) != PAPER[scheme]:
                found.append(f"{width} {scheme}: the page is in another scheme")
            rules = {rule: {"enabled": False} for rule in foreign}
            rules |= {} if foreign else {"target-size": {"enabled": True}}  # not on by default
            context = {"include": [["html"]], "exclude": [[selector] for selector in without]}
            results = page.evaluate(command, [context, rules, [*passed]])
            passed.update(results["passed"])
            found += [f"{width} {scheme}: {line}" for line in results["violations"]]
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
