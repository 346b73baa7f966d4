"""Every page of the site in a browser: axe-core finds no violation, nothing overflows, and the console has no error.

Nothing overflows from 320 to 1920 pixels, with text at 200%, and on paper. Nothing moves while a page loads.

Addresses come from the URL resolver, with the arguments of ``tests.support.matrix.world``. ``test_admin.py`` checks
pages of the admin, whose layout belongs to a library.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import pytest
from playwright.sync_api import Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import PHONE, Audit, OpenPage, find_overflows, settled, text_size
from tests.support.matrix.addresses import find_addresses
from tests.support.matrix.browser import Browser
from tests.support.matrix.world import MatrixWorld
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

MIN_PAGES: Final = 50
CONTROL: Final = re.compile(r"<(?:input|button|select|textarea)\b[^>]*? name=\"([^\"]*)")


class Look(NamedTuple):
    """A language, a colour scheme and the size of a window."""

    language: str
    scheme: Literal["light", "dark"]
    viewport: ViewportSize


# Windows as narrow as a phone at 200% zoom, and as wide as a large screen
WIDTHS: Final = (320, 640, 1920)
# Text at 200% is below the narrowest breakpoint (24rem) up to 768 pixels: the narrowest window stands for all of these.
LARGE_TEXT_WIDTHS: Final = (320, 1280, 1920)
PAPER_WIDTH: Final = 718  # A4 in pixels, less the margins
MAX_SHIFT: Final = 0.02
SHIFTS: Final = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => list.getEntries().forEach(shift => (sum += shift.value)))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 50);
})"""
LOOKS: Final = (Look("en", "light", {"width": 1280, "height": 900}), Look("zh-hans", "dark", PHONE))


@pytest.mark.slow(150)
def test_every_page_is_accessible_and_fits(open_page: OpenPage, live_server: LiveServer, audit: Audit) -> None:
    world = MatrixWorld()
    rebuild()
    people = {"anonymous": Browser(), "reader": world.browser, "staff": Browser(world.staff)}
    pages = list(_find_pages(world, people))
    assert len(pages) >= MIN_PAGES
    found = []
    windows = {name: _open(open_page, live_server, browser) for name, browser in people.items()}
    for look in LOOKS:
        for window in windows.values():
            window.set_viewport_size(look.viewport)
            window.emulate_media(color_scheme=look.scheme)
            _set_cookie(window, live_server, "django_language", look.language)
        for person, path in pages:
            windows[person].goto(path)
            lines = _find_shifts(windows[person])
            lines += audit(windows[person], [(look.viewport["width"], look.scheme)])
            if look is LOOKS[0]:
                lines += _find_overflows_anywhere(windows[person])
                windows[person].set_viewport_size(look.viewport)
            found += [f"{path} as {person}, {look.language}, {line}" for line in lines]
    assert found == []


def _find_shifts(page: Page) -> list[str]:
    """Return a line if the parts of the page moved while it loaded."""
    settled(page)
    shift = page.evaluate(SHIFTS)
    return [f"its parts moved by {shift:.3f}"] if shift > MAX_SHIFT else []


def _find_overflows_anywhere(page: Page) -> list[str]:
    """Return a line for each width at which the page is too wide: with text of both sizes, and on paper."""
    lines = find_overflows(page, WIDTHS)
    with text_size(page, 200):
        lines += [f"large text, {line}" for line in find_overflows(page, LARGE_TEXT_WIDTHS)]
    page.emulate_media(media="print")
    lines += [f"on paper, {line}" for line in find_overflows(page, [PAPER_WIDTH])]
    page.emulate_media(media="screen")
    return lines


def _find_pages(world: MatrixWorld, people: dict[str, Browser]) -> Iterator[tuple[str, str]]:
    """Yield a person and an address for each page, and again for each person to whom it shows other controls."""
    done: set[tuple[str, str]] = set()
    for address in find_addresses(world):
        known: set[frozenset[str]] = set()
        for person, browser in people.items():
            if address.is_of_admin or (person, address.name) in done:
                continue
            controls = _find_controls(browser.ask("GET", address.path))
            if controls is not None and controls not in known:
                known.add(controls)
                done.add((person, address.name))
                yield person, address.path
    yield "anonymous", "/no-such-page/"


def _find_controls(response: Any) -> frozenset[str] | None:
    """Return the names of the controls in the main part of a page, or None if the response is no page."""
    if response.status_code != 200 or response.streaming or b"</html>" not in response.content:
        return None
    return frozenset(CONTROL.findall(response.content.decode().partition("<main")[2].partition("</main>")[0]))


def _open(open_page: OpenPage, live_server: LiveServer, browser: Browser) -> Page:
    """Open a window with the session of ``browser``."""
    page = open_page()
    if session := browser.cookies.get("sessionid"):
        _set_cookie(page, live_server, "sessionid", session.value)
    return page


def _set_cookie(page: Page, live_server: LiveServer, name: str, value: str) -> None:
    page.context.add_cookies([{"name": name, "value": value, "url": live_server.url}])
