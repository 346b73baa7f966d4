"""Checks at the end of a storm, when all faults are over: SQL and the pages against the ledger."""

import time
from collections import Counter, defaultdict
from collections.abc import Hashable
from contextlib import suppress

from django.db import DatabaseError, connections
from redis.exceptions import RedisError

from accounts.models import LoginStats, User
from catalog.library.models import WORKING, LibraryImport
from catalog.lists.models import ListedBook
from catalog.models import Tag, TagVote
from catalog.shelves.models import ReadingProgress, ShelfEntry
from demo.browser import SiteUnavailable
from mirror import status
from mirror.models import Change
from mirror.redis.clients import breaker, relay_client
from mirror.visits import statuses as visits_statuses
from shop.models import Order, OrderLine, OrderState, Product, Return, ReturnLine
from social.models import Block, Follow, Like, Post
from social.reviews.models import Review
from social.welcome.models import ChosenGenre
from tests.storm.ledger import Cell, Ledger, Outcome
from tests.storm.library import IMPORTED_BOOKS, LIST_NAME
from tests.storm.people import JSON, SESSIONS_PATH, Person
from tests.storm.stack import Stack
from tests.support.mirror import command
from tests.support.shop.checkouts import (
    assert_invoices_are_right,
    assert_money_is_right,
    assert_returns_are_right,
    assert_settled,
    is_money_open,
)

CONVERGENCE_SECONDS = 180.0  # generous, because the machine may be busy
BACKGROUND = "Background verification:"  # the start of its messages about differences
Rows = dict[Cell, Hashable]


def find_unrest() -> list[str]:
    """Return what has not converged yet."""
    breaker.reset()
    connections.close_all()  # the last fault may have cut the connection
    try:
        pending = Change.objects.pending().count()
        cold = [name for name, is_warm in status.warm_mirrors(relay_client()).items() if not is_warm]
        visits = [v.kind for v in visits_statuses() if v.waiting != 0 or not v.restored]
        imports = LibraryImport.objects.filter(state__in=WORKING).count()
        unpaid = is_money_open()
    except (DatabaseError, RedisError) as error:
        return [str(error)]
    found = {
        "pending changes": pending,
        "cold mirrors": cold,
        "visits": visits,
        "open payments": unpaid,
        "working imports": imports,
    }
    return [f"{name}: {value}" for name, value in found.items() if value]


def wait_for_convergence(ledger: Ledger, stack: Stack) -> float:
    """Return the seconds until everything has converged."""
    start = time.monotonic()
    while unrest := find_unrest():
        if time.monotonic() - start > CONVERGENCE_SECONDS:
            ledger.add_violation(f"no convergence: {'; '.join(unrest)}")
            break
        stack.tend(0.1)
    return time.monotonic() - start


class FinalCheck:
    """Compares SQL with the ledger. lost, doubled: the numbers of such facts."""

    def __init__(self, ledger: Ledger, people: list[Person]) -> None:
        self.ledger, self.people = ledger, people
        self.lost = self.doubled = 0

    def run(self, stack: Stack, stock: dict[int, int]) -> None:
        """Make all checks. stock: copies of each product before the storm."""
        tables: tuple[tuple[str, Rows, Hashable], ...] = (
            ("user", {("user", n): True for n in _names()}, False),
            ("follow", {("follow", *pair): True for pair in _pairs(Follow, "follower", "followee")}, False),
            ("block", {("block", *pair): True for pair in _pairs(Block, "blocker", "blocked")}, False),
            ("tag", _read_tags(), False),
            ("shelf", _read_shelves("shelf"), ""),
            ("stars", _read_shelves("stars"), None),
            ("listed", _read_lists("storm "), False),
            ("ordered", _read_lists(LIST_NAME, "ordered"), False),
            ("note", {("note", note): True for note in _notes()}, False),
            ("genres", _read_genres(), ()),
            ("imported", _read_imported(), False),
            ("review", _read_reviews(), ""),
            ("tag name", {("tag name", pk): name for pk, name in Tag.objects.values_list("pk", "name")}, None),
            ("hiding", _read_hidden(), True),  # a deleted post is hidden as well
            ("sent", {("sent", pk): True for pk in _read_sent()}, False),
            ("decision", _read_decisions(), "asked"),
            ("deletion", {("deletion", pk): False for pk in Post.objects.values_list("pk", flat=True)}, True),
        )
        for kind, rows, absent in tables:
            self._compare(kind, rows, absent)
        self._check_notes()
        self._check_posts()
        self._check_likes()
        self._check_logins()
        self._check_orders(stock)
        for person in self.people:
            self._check_pages(person)
        self._run_command("mirror")
        self._check_logs(stack)

    def _compare(self, kind: str, rows: Rows, absent: Hashable) -> None:
        """Compare the cells of one kind with the rows. absent: the value of a cell without a row."""
        for cell in self.ledger.find_cells(kind):
            value = rows.get(cell, absent)
            initial = value if kind in ("tag name", "deletion", "hiding") else absent
            self._judge(cell, value, self.ledger.find_allowed(cell, initial))

    def _judge(self, cell: Cell, value: Hashable, allowed: set[Hashable]) -> None:
        if value not in allowed:
            self.lost += 1
            self.ledger.add_violation(f"lost: {cell} is {value!r}, allowed are {allowed!r}")

    def _check_posts(self) -> None:
        """Every acknowledged post exists once unless its author deleted it; a refused one does not exist."""
        found = Counter(Post.objects.values_list("text", flat=True))
        deletions = self.ledger.find_cells("deletion")
        excused = sum(self.ledger.find_allowed(cell, False) != {False} for cell in deletions)
        missing = []
        for cell in self.ledger.find_cells("post"):
            number = found[str(cell[1])]
            if number > 1:
                self._add_doubled(f"post {cell[1]!r} exists {number} times")
            if number and not self.ledger.count(cell, Outcome.DONE) and not self.ledger.count(cell, Outcome.UNKNOWN):
                self.ledger.add_violation(f"refused post {cell[1]!r} exists")
            if not number and self.ledger.count(cell, Outcome.DONE):
                missing.append(cell[1])
        if len(missing) > excused:
            self.lost += len(missing) - excused
            self.ledger.add_violation(f"lost: {len(missing)} posts are missing, {excused} were deleted: {missing}")

    def _check_notes(self) -> None:
        for note, number in Counter(_notes()).items():
            if number > 1:
                self._add_doubled(f"note {note!r} exists {number} times")

    def _check_likes(self) -> None:
        """The likes of the posts that are left."""
        posts = {*Post.objects.values_list("pk", flat=True)}
        likes = {*Like.objects.values_list("user__username", "post_id")}
        for cell in self.ledger.find_cells("like"):
            if cell[2] in posts:
                self._judge(cell, cell[1:] in likes, self.ledger.find_allowed(cell, False))

    def _check_logins(self) -> None:
        """Count each acknowledged login once. Registrations are logins as well."""
        for name, times in LoginStats.objects.values_list("user__username", "login_times"):
            cells: tuple[Cell, Cell] = (("login", name), ("user", name))
            done = sum(self.ledger.count(cell, Outcome.DONE) for cell in cells)
            unknown = sum(self.ledger.count(cell, Outcome.UNKNOWN) for cell in cells)
            self._judge_number(f"logins of {name}", times, done, unknown)

    def _judge_number(self, what: str, number: int, done: int, unknown: int) -> None:
        if number < done:
            self.lost += done - number
            self.ledger.add_violation(f"lost: {what}: {number} of {done}")
        elif number > done + unknown:
            self._add_doubled(f"{what}: {number}, but only {done} were acknowledged and {unknown} are unknown")

    def _add_doubled(self, text: str) -> None:
        self.doubled += 1
        self.ledger.add_violation(f"doubled: {text}")

    def _check_orders(self, stock: dict[int, int]) -> None:
        orders = dict(Order.objects.values_list("pk", "user__username"))
        for person in self.people:
            cell = ("order", person.name)
            known = {entry.value for entry in self.ledger.entries[cell] if entry.outcome == Outcome.DONE}
            own = {pk for pk, name in orders.items() if name == person.name}
            for pk in known - own:
                self.lost += 1
                self.ledger.add_violation(f"lost: order {pk} of {person.name}")
            self._judge_number(
                f"orders of {person.name}", len(own), len(known & own), self.ledger.count(cell, Outcome.UNKNOWN)
            )
        self._check_returns()
        # With one payment for each order, one refund for each return, and one document for each of them.
        for check in (assert_settled, assert_money_is_right, assert_returns_are_right, assert_invoices_are_right):
            try:
                check()
            except AssertionError as error:
                self.ledger.add_violation(f"{check.__name__}: {error}")
        self._check_stock(stock)

    def _check_returns(self) -> None:
        """Each acknowledged return exists once, and a refused one does not exist."""
        found = Counter(Return.objects.values_list("order__user__username", flat=True))
        for person in self.people:
            cell = ("return", person.name)
            counts = [self.ledger.count(cell, outcome) for outcome in (Outcome.DONE, Outcome.UNKNOWN)]
            self._judge_number(f"returns of {person.name}", found[person.name], *counts)

    def _check_stock(self, stock: dict[int, int]) -> None:
        """The stock follows from the first stock, the staff's deliveries, the orders and the returns."""
        sold = Counter[int]()
        lines = OrderLine.objects.filter(order__state__in=(OrderState.PAID, OrderState.SENT))
        for pk, quantity in lines.values_list("product_id", "quantity"):
            sold[pk] += quantity
        back = ReturnLine.objects.filter(order_return__is_restocked=True)
        for pk, quantity in back.values_list("line__product", "quantity"):
            sold[pk] -= quantity
        for pk, left in Product.objects.values_list("pk", "stock"):
            entries = self.ledger.entries["stock", pk]
            sure = stock[pk] - sold[pk] + sum(int(str(e.value)) for e in entries if e.outcome == Outcome.DONE)
            unsure = sum(int(str(e.value)) for e in entries if e.outcome == Outcome.UNKNOWN)
            if not sure <= left <= sure + unsure:
                self.ledger.add_violation(f"oversold: product {pk} has {left} copies, expected {sure} (+{unsure})")

    def _check_pages(self, person: Person) -> None:
        """Sessions, cart and posts of a person, as the pages show them."""
        with suppress(SiteUnavailable):  # recorded
            for visit in [person.first, *person.visits, *person.newcomers]:
                if visit.is_live and (path := person.ask(visit, SESSIONS_PATH).path) != SESSIONS_PATH:
                    self.ledger.add_violation(f"a session of {person.name} ended: {path}")
            for ended in person.ended:
                person.check_ended_session(ended)
            cart = person.ask(person.first, "/shop/cart/", accept=JSON).json
            shown = {line["product"]: line["quantity"] for line in cart["lines"]}
            for cell in self.ledger.find_cells("cart"):
                if cell[1] == person.name:
                    self._judge(cell, shown.get(cell[2], 0), self.ledger.find_allowed(cell, 0))
            page = person.ask(person.first, f"/u/{person.name}/", accept=JSON).json
            shown_ids = [post["id"] for post in page["results"]]
            rows = Post.objects.shown().filter(user__username=person.name).order_by("-pk")
            if shown_ids != [*rows.values_list("pk", flat=True)[: len(shown_ids)]] or (rows and not shown_ids):
                self.ledger.add_violation(f"/u/{person.name}/ shows {shown_ids[:5]}... instead of SQL's posts")

    def _check_logs(self, stack: Stack) -> None:
        """The relay must not have repaired anything: its background verification would hide a lost change."""
        for line in (line for name in stack.commands for line in stack.crew.said(name).splitlines()):
            if BACKGROUND in line:
                self.ledger.add_violation(line)

    def _run_command(self, what: str) -> None:
        done = command.run("verify", name=what)
        if done.code:
            self.ledger.add_violation(f"{what} verify: {done.out[-2000:]}{done.err[-1000:]}")


def _names() -> list[str]:
    return [*User.objects.values_list("username", flat=True)]


def _pairs(model: type[Follow | Block], one: str, other: str) -> list[tuple[str, str]]:
    return [*model.objects.values_list(f"{one}__username", f"{other}__username")]


def _read_lists(start: str, kind: str = "listed") -> Rows:
    """Return the books on lists whose names begin with ``start``."""
    rows = ListedBook.objects.filter(reading_list__name__startswith=start)
    found = rows.values_list("reading_list__user__username", "book_id")
    return {(kind, name, book): True for name, book in found}


def _notes() -> list[str]:
    return [*ReadingProgress.objects.values_list("note", flat=True)]


def _read_genres() -> Rows:
    found: dict[str, list[str]] = defaultdict(list)
    for name, tag in ChosenGenre.objects.order_by("tag__name").values_list("user__username", "tag__name"):
        found[name].append(tag)
    return {("genres", name): tuple(tags) for name, tags in found.items()}


def _read_imported() -> Rows:
    """Return who has all books of the file on shelves. A part of them is neither imported nor undone."""
    rows = ShelfEntry.objects.filter(book__in=IMPORTED_BOOKS)
    counts = Counter(rows.values_list("user__username", flat=True))
    return {("imported", name): True if n == len(IMPORTED_BOOKS) else f"only {n} books" for name, n in counts.items()}


def _read_reviews() -> Rows:
    rows = Review.objects.values_list("user__username", "book_id", "text")
    return {("review", name, book): text for name, book, text in rows}


def _read_sent() -> list[int]:
    return [*Order.objects.filter(state=OrderState.SENT).values_list("pk", flat=True)]


def _read_decisions() -> Rows:
    return {("decision", pk): state for pk, state in Return.objects.values_list("pk", "state")}


def _read_tags() -> Rows:
    rows = TagVote.objects.values_list("user__username", "book_id", "tag__name")
    return {("tag", *row): True for row in rows}


def _read_shelves(column: str) -> Rows:
    rows = ShelfEntry.objects.values_list("user__username", "book_id", column)
    return {(column, name, pk): value for name, pk, value in rows}


def _read_hidden() -> Rows:
    return {("hiding", pk): is_hidden for pk, is_hidden in Post.objects.values_list("pk", "is_hidden")}
