"""Simulated visitors who search, view books, fill carts, buy, post and follow through the ordinary pages."""

import re
import secrets
from collections import Counter
from collections.abc import Callable
from random import Random
from threading import Event, Thread
from typing import Any, Final
from urllib.parse import quote, urlencode

from demo.browser import Browser, SiteUnavailable
from demo.words.posts import TEXTS_WITHOUT_BOOK

PAUSE_SECONDS_RANGE: Final = (0.4, 1.6)  # between two pages of one visitor
START_INTERVAL_SECONDS: Final = 0.3  # between two visitors
CARD: Final = {"card": "4242 4242 4242 4242", "expiry": "12/40", "code": "123"}
BUYER: Final = {
    "name": "Demo Visitor",
    "email": "visitor@diptych.invalid",
    "country": "GB",
    "street": "1 Quay Street",
    "city": "Harrogate",
    "postcode": "HG1 1AA",
}
ORDER_PATH: Final = re.compile(r"^/shop/orders/[0-9]+/$")
SHOPPER_NAME: Final = "demo-shopper"
ERROR_PREFIX: Final = "error: "  # of the names of errors among the counts of a visitor


class Visitor:
    """A simulated visitor. done: the numbers of actions and errors by name."""

    def __init__(self, url: str, seed: int, login: tuple[str, str] | None, stop: Event) -> None:
        self.browser, self.random, self.done = Browser(url), Random(seed), Counter[str]()
        self._login, self._stop = login, stop
        self._is_known = False
        self._books: list[dict[str, Any]] = []
        self._tags: list[str] = []
        self._has_cart = False

    def run(self) -> None:
        """Act until the stop event is set."""
        habits: list[tuple[Callable[[], None], int]] = [
            (self.search, 4),
            (self.look, 8),
            (self.view_public_page, 2),
            (self.fill_cart, 3),
            (self.buy, 2),
            (self.say, 1),
            (self.follow, 1),
        ]
        acts = [act for act, _ in habits]
        weights = [weight for _, weight in habits]
        self._try(self.log_in_or_register)
        while not self._stop.wait(self.random.uniform(*PAUSE_SECONDS_RANGE)):
            self._try(self.random.choices(acts, weights)[0])

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except SiteUnavailable as error:
            self.done[f"{ERROR_PREFIX}{error}"] += 1

    def _count_action(self, what: str, *, well: bool = True) -> bool:
        self.done[what if well else f"refused: {what}"] += 1
        return well

    def log_in_or_register(self) -> None:
        """Log in, or register."""
        if self._login:
            name, password = self._login
            page, action = "/accounts/login/", "logged in"
            fields = {"username": name, "password": password}
        else:
            name, password = f"visitor {secrets.token_hex(4)}", secrets.token_urlsafe(12)
            page, action = "/accounts/register/", "registered"
            fields = {"username": name, "password1": password, "password2": password}
        # The page first, because its form has the token.
        self.browser.get(page)
        answer = self.browser.post(page, fields)
        # A new reader gets to the first steps.
        is_done = answer.path == "/" or answer.path.startswith("/welcome/")
        self._is_known = self._count_action(action, well=is_done)

    def search(self) -> None:
        """Find books by up to two tags."""
        tags = self.random.sample(self._tags, min(len(self._tags), self.random.randint(0, 2)))
        query = " & ".join(map(_quote_tag, tags))
        found = self.browser.get_json(f"/books/?{urlencode({'q': query})}") or {}
        self._count_action("searches", well="results" in found)
        # After a search without results, the visitor goes on with those of the search before.
        self._books = found.get("results") or self._books
        facets = [facet["name"] for facet in found.get("facets", [])]
        self._tags = facets or self._tags

    def look(self) -> None:
        """View a book."""
        if not self._books:
            self.search()
            return
        answer = self.browser.get(f"/books/{self._pick_book()}/")
        self._count_action("books looked at", well=answer.status == 200)

    def view_public_page(self) -> None:
        """View a random public page."""
        path = self.random.choice(("/", "/shop/sale/", "/global/", "/accounts/leaderboard/"))
        self._count_action("other pages", well=self.browser.get(path).status == 200)

    def fill_cart(self) -> None:
        """Put one of the books found last into the cart."""
        if not self._books:
            self.search()
            return
        book = self._pick_book()
        self.browser.get(f"/books/{book}/")
        wish = {"product": book, "quantity": self.random.randint(1, 2)}
        answer = self.browser.post("/shop/cart/", wish, accept="application/json")
        self._has_cart = self._count_action("put into a cart", well=answer.status == 200) or self._has_cart

    def buy(self) -> None:
        """Order the content of the cart, and pay with the card that the fake provider accepts."""
        if not (self._is_known and self._has_cart):
            self.fill_cart()
            return
        page = self.browser.get("/shop/checkout/")
        self._has_cart = False
        if page.path != "/shop/checkout/":
            return
        answer = self.browser.post("/shop/checkout/", {**page.hidden, **BUYER, **CARD})
        self._count_action("orders", well=bool(ORDER_PATH.match(answer.path)))

    def say(self) -> None:
        """Publish a post, perhaps about a book."""
        if not self._is_known:
            self.look()
            return
        self.browser.get("/home/")
        fields: dict[str, object] = {"text": f"{self.random.choice(TEXTS_WITHOUT_BOOK)} ({secrets.token_hex(2)})"}
        if self._books and self.random.random() < 0.5:
            fields["book"] = self._pick_book()
        self._count_action("posts", well=self.browser.post("/posts/", fields).status == 200)

    def follow(self) -> None:
        """Follow an author of recent posts."""
        posts = (self.browser.get_json("/global/") or {}).get("results") or []
        names = [post["user"]["name"] for post in posts if isinstance(post.get("user"), dict)]
        if not (self._is_known and names):
            self.look()
            return
        path = f"/u/{quote(self.random.choice(names))}/"
        self.browser.get(path)
        self._count_action("follows", well=self.browser.post(f"{path}follow/", {}).status == 200)

    def _pick_book(self) -> int:
        return int(self.random.choice(self._books)["id"])


def _quote_tag(tag: str) -> str:
    return tag if re.fullmatch(r"[\w-]+", tag) else '"' + tag.replace('"', "") + '"'


def run_visitors(
    url: str, users: int, stop: Event, wait: Callable[[], None], login: tuple[str, str] | None
) -> Counter[str]:
    """Run ``users`` visitors of ``url`` until ``wait`` returns, the first one as ``login``. Return the total counts."""
    # A site that is down is an error of the command, and not of each visitor.
    Browser(url).get("/healthz")
    visitors = [Visitor(url, number, None if number else login, stop) for number in range(users)]
    threads = [Thread(target=visitor.run, daemon=True) for visitor in visitors]
    try:
        for thread in threads:
            thread.start()
            if stop.wait(START_INTERVAL_SECONDS):
                break
        wait()
    finally:
        stop.set()
        for thread in threads:
            # A thread that was never started cannot be joined.
            if thread.ident:
                thread.join()
    total = Counter[str]()
    for visitor in visitors:
        total.update(visitor.done)
    return total
