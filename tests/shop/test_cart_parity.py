"""Carts equal a model of plain dicts after any order of changes, moves, merges, flushes and losses.

The model has two dicts for each cart, one for Redis and one for SQL: product -> (copies, version, time added). It
states the whole promise: of two versions of a line the later one wins, lines of either side are not lost, and lines are
in the order in which they were first added.
"""

import os
from typing import Any

import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from redis import Redis

from accounts.models import Session, User
from mirror.models import BackupState
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from mirror.relay.rebuild import rebuild
from shop.carts import moves, without_redis
from shop.carts.sync import push_all_pending_carts
from shop.models import Cart
from shop.services import carts
from tests.support import state_machines
from tests.support.mirror.backup_world import Lives, lives
from tests.support.shop.carts import find_differences, flush_carts, make_visitor, read_quantities, restore_backups
from tests.support.shop.make import make_product

__all__ = ["lives"]
Lines = dict[str, tuple[int, int, int]]  # by product or order: copies, version, time added
EXAMPLES = int(os.environ.get("PARITY_EXAMPLES", "8"))
who, which = st.integers(0, 2), st.integers(0, 2)
quantities = st.integers(0, 3)


def later(one: Lines, other: Lines) -> Lines:
    """Return the later version of each line."""
    return {
        name: max((side[name] for side in (one, other) if name in side), key=lambda line: line[1])
        for name in {**one, **other}
    }


class Model:
    """A cart. goes_into: the cart that it was merged into."""

    def __init__(self) -> None:
        self.redis: Lines = {}
        self.sql: Lines = {}
        self.goes_into: Model | None = None


class Visitor:
    """A browser in which one of two users may be logged in."""

    def __init__(self) -> None:
        self.digest, self.user, self.cart, self.is_behind = make_visitor(), -1, Model(), False


class Site(RuleBasedStateMachine):
    """The site. ``away``: Redis is away."""

    redis: Redis
    lives: Lives
    products: list[int]
    users: list[User]

    @initialize()
    def begin(self) -> None:
        self.redis.flushall()
        for model in (Cart, Session, BackupState):
            model.objects.all().delete()
        rebuild(["product"])
        restore_backups()
        self.time, self.away = 0, False
        self.visitors, self.parked, self.all = [Visitor() for _ in range(3)], ([], []), list[Model]()  # type: ignore[var-annotated]
        self.all = [visitor.cart for visitor in self.visitors]
        self.remember()

    def teardown(self) -> None:
        if hasattr(self, "all"):
            self.comes_back()
            restore_backups()
            self.quiet()
            assert find_differences() == []
            for number in range(3):
                self.look(number)

    # --- visitors

    @rule(number=who, product=which, quantity=quantities)
    def set(self, number: int, product: int, quantity: int) -> None:
        self.change(number, carts.set_line, product, lambda before: quantity, quantity)

    @rule(number=who, product=which, quantity=st.integers(1, 3))
    def add(self, number: int, product: int, quantity: int) -> None:
        self.change(number, carts.add_copies, product, lambda before: before + quantity, quantity)

    def change(self, number: int, do: Any, product: int, count: Any, quantity: int) -> None:
        visitor = self.visitors[number]
        self.as_(visitor, lambda: do(visitor.digest, self.products[product], quantity))
        self.put(visitor.cart, str(self.products[product]), count)
        self.look(number)

    @rule(number=who, key=st.sampled_from("ab"), is_known=st.booleans())
    def order(self, number: int, key: str, is_known: bool) -> None:
        visitor = self.visitors[number]
        cart = self.seen(visitor.cart)
        version = 0
        if is_known:
            version = self.as_(visitor, lambda: carts.read_cart(visitor.digest)).version
        taken = dict.fromkeys(self.products[:2], 1)
        self.as_(visitor, lambda: carts.take_out_lines(visitor.digest, version, taken, key=key))
        if f"order:{key}" not in cart:
            for product in map(str, taken):
                self.put(visitor.cart, product, lambda before: 0 if is_known and version else max(0, before - 1))
            self.put(visitor.cart, f"order:{key}", lambda before: 0, always=True)
        self.look(number)

    def look(self, number: int) -> None:
        visitor = self.visitors[number]
        lines = self.seen(visitor.cart).items()
        wanted = sorted((added, int(name), copies) for name, (copies, _, added) in lines if copies)
        shown = self.as_(visitor, lambda: read_quantities(visitor.digest))
        assert list(shown.items()) == [(product, copies) for _, product, copies in wanted]

    @rule(number=who, user=st.integers(0, 1))
    def log_in(self, number: int, user: int) -> None:
        visitor = self.visitors[number]
        if visitor.user >= 0:
            self.log_out(number)
            visitor = self.visitors[number]
        new = make_visitor(self.users[user])
        self.as_(visitor, lambda: self._log_in(visitor.digest, new, user))
        visitor.digest, visitor.user = new, user
        self._rotated(visitor.cart)
        for source in self.parked[user]:
            source.goes_into = visitor.cart
            for name, (copies, _, added) in source.sql.items():
                if copies:
                    self.time += 1
                    before, _, first = visitor.cart.sql.get(name, (0, 0, 0))
                    visitor.cart.sql[name] = (before + copies, self.time, min(first, added) if before else added)
            visitor.cart.redis = later(visitor.cart.redis, visitor.cart.sql)
        self.parked[user].clear()
        self.look(number)

    def _log_in(self, old: str, new: str, user: int) -> None:
        with transaction.atomic():
            Session.objects.filter(pk=old).delete()
            moves.move_cart_to_new_token(old, new, None)
            moves.gather_parked_carts(self.users[user].pk, new)

    @rule(number=who)
    def rotate(self, number: int) -> None:
        visitor = self.visitors[number]
        new = make_visitor(self.users[visitor.user] if visitor.user >= 0 else None)
        self.as_(visitor, lambda: moves.move_cart_to_new_token(visitor.digest, new, None))
        Session.objects.filter(pk=visitor.digest).delete()
        visitor.digest = new
        self._rotated(visitor.cart)
        self.look(number)

    @rule(number=who)
    def log_out(self, number: int) -> None:
        visitor = self.visitors[number]
        with transaction.atomic():
            moves.park_carts([visitor.digest])
            Session.objects.filter(pk=visitor.digest).delete()
        self._rotated(visitor.cart)
        if visitor.user >= 0:
            self.parked[visitor.user].append(visitor.cart)
        self.visitors[number] = Visitor()
        self.all.append(self.visitors[number].cart)

    # --- background tasks

    @precondition(lambda self: not self.away)
    @rule()
    def flushed(self) -> None:
        flush_carts()
        push_all_pending_carts()
        for cart in self.all:
            cart.sql = dict(cart.redis)

    def quiet(self) -> None:
        """Run all background tasks."""
        for _ in range(2):
            flush_carts()
            push_all_pending_carts()
        for cart in self.all:
            if cart.goes_into is not None:
                cart.goes_into.redis = later(cart.goes_into.redis, cart.redis)
        for cart in self.all:
            cart.sql = dict(cart.redis)
        rows = Cart.objects.in_bulk([visitor.digest for visitor in self.visitors])
        for visitor in self.visitors:
            lines = {name: copies for name, (copies, *_) in visitor.cart.sql.items() if copies}
            assert (rows[visitor.digest].lines if visitor.digest in rows else {}) == lines

    # --- failures

    @precondition(lambda self: not self.away)
    @rule(number=who, product=which, quantity=quantities)
    def goes_away(self, number: int, product: int, quantity: int) -> None:
        """Take Redis away while it has changes that SQL does not have."""
        self.set(number, product, quantity)
        self.away = True
        breaker._until = float("inf")

    @precondition(lambda self: self.away)
    @rule()
    def comes_back(self) -> None:
        self.away = False
        breaker.reset()
        self.quiet()

    @precondition(lambda self: not self.away)
    @rule()
    def remember(self) -> None:
        self.past = self.lives.past()
        self.were = {id(cart): dict(cart.redis) for cart in self.all}

    @precondition(lambda self: not self.away)
    @rule(is_older=st.booleans(), is_restored=st.booleans())
    def redis_is_lost(self, is_older: bool, is_restored: bool) -> None:
        if is_older:
            self.lives.come_back(self.past)
        else:
            self.redis.flushall()
        for cart in self.all:
            cart.redis = later(cart.sql, self.were.get(id(cart), {}) if is_older else {})
        rebuild(["product"])
        if is_restored:
            restore_backups()
        if is_older:
            self.quiet()  # it has changes that were written under ended tokens

    # --- the model

    def seen(self, cart: Model) -> Lines:
        """Return the shown content of a cart."""
        return cart.sql if self.away else cart.redis

    def put(self, cart: Model, name: str, count: Any, *, always: bool = False) -> None:
        """Change a line of the model if the limits allow it."""
        lines = self.seen(cart)
        before, _, added = lines.get(name, (0, 0, 0))
        if count(before) != before or always:
            self.time += 1
            lines[name] = (count(before), self.time, added if before else self.time)
        if self.away:
            cart.redis = later(cart.redis, cart.sql)

    def _rotated(self, cart: Model) -> None:
        """Give the model's SQL the changes of its Redis, as a rotation does."""
        if not self.away:
            cart.sql = dict(cart.redis)

    def as_(self, visitor: Visitor, do: Any) -> Any:
        """Run ``do`` as a request of this visitor, with the visitor's cookies."""
        with without_redis.track_request(visitor.is_behind) as state:
            found = do()
        visitor.is_behind = state.is_behind or (visitor.is_behind and not state.has_caught_up)
        return found


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_carts_equal_the_model(redis: Redis, lives: Lives) -> None:
    Site.redis, Site.lives = redis, lives
    Site.products = [make_product(stock=1000).pk for _ in range(3)]
    Site.users = [User.objects.create_user(name) for name in ("alice", "bob")]
    drain_all()
    try:
        state_machines.run_machine(Site, examples=EXAMPLES)
    finally:
        breaker.reset()
