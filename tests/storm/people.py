"""Simulated people: each uses the site through its pages, in several sessions, and records every write."""

import copy
import random
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.cookiejar import Cookie
from urllib.error import HTTPError

from django.core.files import File
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from accounts.sessions.rows import hash_token
from demo.browser import Answer, Browser, SiteUnavailable
from demo.traffic import CARD, ORDER_PATH
from shop.payments import fake
from tests.storm.ledger import GRACE_SECONDS, Cell, Ledger, Outcome

PASSWORD = "a storm is coming"
JSON = "application/json"
LOGIN_PATH, SESSIONS_PATH = "/accounts/login/", "/accounts/sessions/"
PAUSE_SECONDS = (0.3, 1.1)
MAX_SESSIONS = 3  # beside the first, which is never logged out
REFUSED_SHARE = 0.1  # of posts and cart lines, which the site must refuse
REPLY_SHARE = 0.3  # of posts
LOGOUT_SHARE = 0.2  # of what people do while something is away, because a lost logout is the worst that a fault can do
TOO_LONG, TOO_MANY = 5000, 1000  # characters, copies
TAGS = ("storm-one", "storm-two", "storm-three")
SHELVES = ("want-to-read", "reading", "read", "did-not-finish")
PAGES = (
    "/", "/shop/sale/", "/global/", "/home/", "/accounts/leaderboard/", "/books/?q=", "/shelves/read/", "/loginlog/",
    "/lists/", "/shop/orders/", "/shop/cart/", "/people/", "/mentions/", "/accounts/",
)  # fmt: skip
WORDS = ("ruby", "river", "garden", "night", "erlang", "the", "letters")
BOOKS = range(1, 41)  # people rate odd books and shelve even ones
REVIEWED_BOOKS = range(41, 45)  # others, because a review rates and shelves its book
ADDRESS = {"country": "GB", "street": "1 Gale Lane", "city": "London", "postcode": "SW1A 1AA"}
PASSIVE = ("stillreader1", "stillreader2", "stillreader3")  # only blocked


class Tab(Browser):
    """A browser, optionally with a copy of an earlier session cookie."""

    def __init__(self, url: str, session: Iterable[Cookie] = ()) -> None:
        super().__init__(url)
        for cookie in session:
            self._cookies.set_cookie(copy.copy(cookie))

    def post(self, path: str, fields: Mapping[str, object], *, accept: str = "text/html") -> Answer:
        """Submit a form of the last page, also with files."""
        if not any(isinstance(value, File) for value in fields.values()):
            return super().post(path, fields, accept=accept)
        given = {**fields, "csrfmiddlewaretoken": self._find_csrf_token()}
        return self._ask(path, encode_multipart(BOUNDARY, given), accept, MULTIPART_CONTENT)

    def copy_session(self) -> list[Cookie]:
        """Return the session cookie alone, without the cookie that makes SQL answer after a write."""
        return [copy.copy(cookie) for cookie in self._cookies if cookie.name == "sessionid"]


@dataclass
class Visit:
    """A session. is_live: the person is logged in, and has not asked for its end."""

    tab: Tab
    is_live: bool = False


@dataclass
class Ended:
    """A session after its end was acknowledged."""

    cookies: list[Cookie]
    ended_at: float
    was_probed: bool = False


@dataclass
class Memory:
    """What a person remembers. posts: the ids of own posts. seen: ids of other posts. cart: products that may be in the
    cart.
    """

    posts: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    gone: dict[int, float] = field(default_factory=dict)  # deleted posts, with the time
    cart: set[int] = field(default_factory=set)
    number: int = 0


class Person(threading.Thread):
    """A simulated person. names: of all people."""

    def __init__(self, name: str, names: list[str], url: str, ledger: Ledger, seed: str, end: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.names, self.url, self.ledger, self.end = [n for n in names if n != name], url, ledger, end
        self.random, self.memory = random.Random(f"{seed} {name}"), Memory()
        self.first = Visit(Tab(url))
        self.visits: list[Visit] = []
        self.ended: list[Ended] = []
        self.newcomers: list[Visit] = []
        self.find_hidden: Callable[[], dict[int, float]] = dict

    def run(self) -> None:
        """Act until the event `end` is set."""
        choices, weights = zip(*self.list_acts(), strict=True)
        while not self.end.wait(self.random.uniform(*PAUSE_SECONDS)):
            try:
                (self.find_urgent() or self.random.choices(choices, weights)[0])()
            except SiteUnavailable:
                continue  # recorded where it happened
            except Exception:
                self.ledger.add_violation(f"{self.name} stopped: {traceback.format_exc()}")
                return

    def list_acts(self) -> list[tuple[Callable[[], None], int]]:
        """Return the acts with their weights."""
        return [
            (self.view_page, 7), (self.search, 2), (self.view_book, 3), (self.tag, 2), (self.shelve, 2),
            (self.rate, 2), (self.follow, 2), (self.block, 1), (self.post, 3), (self.like, 2),
            (self.review, 1), (self.delete, 1), (self.fill_cart, 3), (self.list_book, 2),
            (self.buy, 2), (self.log_in, 2), (self.log_out, 2), (self.register_newcomer, 1),
            (self.probe_ended_session, 3), (self.probe_gone_post, 3),
        ]  # fmt: skip

    def find_urgent(self) -> Callable[[], None] | None:
        """Return what precedes the usual acts: a logout during a fault, and a probe of it shortly after the fault."""
        now = time.time()
        if self.ledger.calendar.find_away(now, now):
            return self.log_out if self.visits and self.random.random() < LOGOUT_SHARE else None
        for ended in self.ended:
            if not ended.was_probed and self._is_late(now, ended.ended_at):
                ended.was_probed = True
                return partial(self.check_ended_session, ended)
        return None

    @property
    def digest(self) -> str:
        """The digest of the first session, which has the cart."""
        return hash_token(self.first.tab.copy_session()[0].value or "")

    # --- requests ---------------------------------------------------------------------------

    def ask(
        self, visit: Visit, path: str, fields: dict[str, object] | None = None, accept: str = "text/html"
    ) -> Answer:
        """Request a page. Raises SiteUnavailable after recording the failure."""
        began, clock = time.time(), time.monotonic()
        try:
            tab = visit.tab
            answer = tab.get(path, accept=accept) if fields is None else tab.post(path, fields, accept=accept)
        except SiteUnavailable as error:
            self.ledger.add_failure(path, str(error), began, is_cut=not isinstance(error.__cause__, HTTPError))
            raise
        finally:
            self.ledger.latencies.append((time.monotonic() - clock, began))
        if visit.is_live and (answer.path == LOGIN_PATH or answer.status == 401):
            away = ", ".join(sorted(self.ledger.calendar.find_away(began, time.time()))) or "nothing"
            self.ledger.add_violation(f"session of {self.name} ended: {path} -> {answer.path}, away: {away}")
        return answer

    def write(
        self,
        cell: Cell,
        value: Hashable,
        path: str,
        fields: dict[str, object],
        *,
        visit: Visit | None = None,
        accept: str = JSON,
        is_done: Callable[[Answer], bool] = lambda answer: answer.status in (200, 201),
    ) -> Answer | None:
        """Write, and record the outcome. Return the answer of an acknowledged write."""
        began = time.time()
        try:
            answer = self.ask(visit or self.pick_visit(), path, fields, accept)
        except SiteUnavailable:
            self.ledger.add(cell, value, Outcome.UNKNOWN, began)
            raise
        is_well = is_done(answer)
        # The page of a new post is missing if staff hid the post before the response.
        refused = Outcome.UNKNOWN if answer.status == 404 else Outcome.REFUSED
        self.ledger.add(cell, value, Outcome.DONE if is_well else refused, began)
        if not is_well:
            self.ledger.refusals[str(cell[0]), answer.status] += 1
        return answer if is_well else None

    def pick_visit(self) -> Visit:
        """Return one of the live sessions."""
        return self.random.choice([self.first, *self.visits])

    # --- sessions ---------------------------------------------------------------------------

    def register(self, visit: Visit, name: str) -> bool:
        """Register under this name. Return whether it was acknowledged."""
        self.ask(visit, "/accounts/register/")
        fields: dict[str, object] = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
        path = "/accounts/register/"
        done = self.write(("user", name), True, path, fields, visit=visit, accept="text/html", is_done=_is_welcome)
        visit.is_live = done is not None
        return visit.is_live

    def register_newcomer(self) -> None:
        self.memory.number += 1
        visit = Visit(Tab(self.url))
        if self.register(visit, f"{self.name}guest{self.memory.number}"):
            self.newcomers.append(visit)

    def log_in(self) -> None:
        if len(self.visits) >= MAX_SESSIONS:
            return
        visit = Visit(Tab(self.url))
        self.ask(visit, LOGIN_PATH)
        fields: dict[str, object] = {"username": self.name, "password": PASSWORD}
        if self.write(
            ("login", self.name), True, LOGIN_PATH, fields, visit=visit, accept="text/html", is_done=_is_home
        ):
            visit.is_live = True
            self.visits.append(visit)

    def log_out(self) -> None:
        if not self.visits:
            return
        visit = self.visits.pop(self.random.randrange(len(self.visits)))
        cookies, visit.is_live = visit.tab.copy_session(), False
        cell = ("logout", self.name)
        if self.write(cell, True, "/accounts/logout/", {}, visit=visit, accept="text/html", is_done=_is_home):
            self.ended.append(Ended(cookies, time.time()))

    def probe_ended_session(self) -> None:
        """Request a page with an ended session. It may be answered only shortly after a fault."""
        if self.ended:
            self.check_ended_session(self.random.choice(self.ended))

    def check_ended_session(self, ended: Ended) -> None:
        began = time.time()
        answer = self.ask(Visit(Tab(self.url, ended.cookies)), SESSIONS_PATH)
        if answer.path == SESSIONS_PATH and self._is_late(began, ended.ended_at):
            self.ledger.add_violation(
                f"ended session of {self.name} answered {began - ended.ended_at:.1f} s after its end"
            )

    def _is_late(self, began: float, acknowledged: float) -> bool:
        return began > acknowledged + GRACE_SECONDS and self.ledger.calendar.is_calm(began, time.time())

    # --- reading ----------------------------------------------------------------------------

    def view_page(self) -> None:
        self.ask(self.pick_visit(), self.random.choice(PAGES))

    def view_book(self) -> None:
        self.ask(self.pick_visit(), f"/books/{self.random.choice(BOOKS)}/")

    def search(self) -> None:
        self.ask(self.pick_visit(), f"/search/?q={self.random.choice(WORDS)}")

    def probe_gone_post(self) -> None:
        """Request a deleted or hidden post. It may be shown only shortly after a fault."""
        gone = self.memory.gone | self.find_hidden()
        if not gone:
            return
        pk, acknowledged = self.random.choice([*gone.items()])
        began = time.time()
        # If it has replies, the page is that of its thread, without its text.
        if self.random.random() < 0.5:
            answer = self.ask(self.pick_visit(), f"/posts/{pk}/", accept=JSON)
            is_shown = answer.status == 200 and "text" in answer.json
        else:
            answer = self.ask(Visit(Tab(self.url)), f"/posts/{pk}/")
            is_shown = "article:published_time" in answer.text
        if is_shown and self._is_late(began, acknowledged):
            self.ledger.add_violation(f"post {pk} shown {began - acknowledged:.1f} s after it was deleted or hidden")

    # --- writing ----------------------------------------------------------------------------

    def tag(self) -> None:
        pk, tag, given = self.random.choice(BOOKS), self.random.choice(TAGS), self.random.random() < 0.7
        path = f"/books/{pk}/tags/" if given else f"/books/{pk}/tags/remove/"
        self.write(("tag", self.name, pk, tag), given, path, {"tag": tag})

    def shelve(self) -> None:
        pk, shelf = self.random.choice(BOOKS[1::2]), self.random.choice([*SHELVES, ""])
        fields: dict[str, object] = {"action": "shelf", "shelf": shelf} if shelf else {"action": "remove"}
        self.write(("shelf", self.name, pk), shelf, f"/books/{pk}/shelf/", fields)

    def rate(self) -> None:
        pk, stars = self.random.choice(BOOKS[::2]), self.random.randint(1, 5)
        # SQL stores halves of a star.
        self.write(("stars", self.name, pk), 2 * stars, f"/books/{pk}/shelf/", {"action": "rate", "stars": stars})

    def list_book(self) -> None:
        # A list for each book: its name finds it again, and it is made once.
        pk = self.random.choice(BOOKS)
        self.write(("listed", self.name, pk), True, "/lists/", {"name": f"storm {pk}", "book": pk})

    def follow(self) -> None:
        other, is_on = self.random.choice(self.names), self.random.random() < 0.6
        self.write(("follow", self.name, other), is_on, f"/u/{other}/{'follow' if is_on else 'unfollow'}/", {})

    def block(self) -> None:
        other, is_on = self.random.choice(PASSIVE), self.random.random() < 0.6
        self.write(("block", self.name, other), is_on, f"/u/{other}/{'block' if is_on else 'unblock'}/", {})

    def post(self) -> None:
        self.memory.number += 1
        text = f"{self.name} writes number {self.memory.number}"
        if self.random.random() < REFUSED_SHARE:
            text += "!" * TOO_LONG
        fields: dict[str, object] = {"text": text}
        if self.memory.seen and self.random.random() < REPLY_SHARE:
            fields["parent"] = self.random.choice(self.memory.seen)
        if answer := self.write(("post", text), True, "/posts/", fields):
            self.memory.posts.append(int(answer.json["id"]))

    def like(self) -> None:
        """Like one of the newest posts, or take the like back."""
        page = self.ask(self.pick_visit(), "/global/", accept=JSON).json
        self.memory.seen = [post["id"] for post in page["results"]]
        if self.memory.seen:
            pk, is_on = self.random.choice(self.memory.seen), self.random.random() < 0.7
            self.write(("like", self.name, pk), is_on, f"/posts/{pk}/{'like' if is_on else 'unlike'}/", {})

    def review(self) -> None:
        """Write a review, or edit it."""
        self.memory.number += 1
        pk, text = self.random.choice(REVIEWED_BOOKS), f"{self.name} judges number {self.memory.number}"
        fields: dict[str, object] = {"text": text, "stars": f"{self.random.randint(1, 10) / 2:g}"}
        self.write(("review", self.name, pk), text, f"/books/{pk}/review/", fields)

    def delete(self) -> None:
        if not self.memory.posts:
            return
        pk = self.memory.posts.pop(self.random.randrange(len(self.memory.posts)))
        if self.write(("deletion", pk), True, f"/posts/{pk}/delete/", {}):
            self.memory.gone[pk] = time.time()

    def fill_cart(self) -> None:
        pk = self.random.choice(BOOKS)
        quantity = TOO_MANY if self.random.random() < REFUSED_SHARE else self.random.randint(0, 2)
        self.memory.cart.add(pk)
        fields: dict[str, object] = {"product": pk, "quantity": quantity}
        self.write(("cart", self.name, pk), quantity, "/shop/cart/", fields, visit=self.first)

    def buy(self) -> None:
        """Order the cart. The page itself shows an order whose response was lost."""
        page = self.ask(self.first, "/shop/checkout/")
        if ORDER_PATH.match(page.path):
            self._note_order(page, Outcome.DONE, time.time())
        if page.path != "/shop/checkout/":
            return
        card = self.random.choice((fake.GOOD_CARD, fake.TWO_CALLBACKS_CARD))
        paid_with = CARD | {"card": card}
        address = {"name": self.name, "email": "storm@diptych.invalid", **paid_with, **ADDRESS}
        began = time.time()
        try:
            answer = self.ask(self.first, "/shop/checkout/", {**page.hidden, **address})
        except SiteUnavailable:
            self._note_order(None, Outcome.UNKNOWN, began)
            raise
        is_made = ORDER_PATH.match(answer.path.removesuffix("pay/"))
        self._note_order(answer, Outcome.DONE if is_made else Outcome.REFUSED, began)

    def _note_order(self, answer: Answer | None, outcome: Outcome, began: float) -> None:
        """Record an order by its number, and the emptied cart."""
        number = int(answer.path.split("/")[3]) if answer and outcome == Outcome.DONE else 0
        self.ledger.add(("order", self.name), number, outcome, began)
        if answer and outcome == Outcome.REFUSED:
            self.ledger.refusals["order", answer.status] += 1
            return
        for pk in self.memory.cart:
            self.ledger.add(("cart", self.name, pk), 0, outcome, began)


def _is_welcome(answer: Answer) -> bool:
    return answer.path.startswith("/welcome/") and answer.status == 200


def _is_home(answer: Answer) -> bool:
    return answer.path == "/" and answer.status == 200
