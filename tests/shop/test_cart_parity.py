"""Carts equal a model of plain dicts after any order of changes, orders, rotations, logins and losses of Redis.

The model has a dict for each cart: product -> (copies, time added). Nothing that a visitor was told is ever lost, and
lines are in the order in which they were first added.
"""

import os

import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from redis import Redis

from accounts.models import Session, User
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from mirror.upkeep.sweeper import sweep
from shop.carts import storage
from shop.models import Cart
from shop.services import carts
from tests.support import state_machines
from tests.support.mirror.lives import Lives, lives
from tests.support.shop.carts import find_differences, make_visitor, read_quantities
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.also_on("sqlite")

__all__ = ["lives"]
Lines = dict[int, tuple[int, int]]  # by product: copies, time added
EXAMPLES = int(os.environ.get("PARITY_EXAMPLES", "8"))
who, which = st.integers(0, 2), st.integers(0, 2)


class Visitor:
    """A browser in which one of two users may be logged in."""

    def __init__(self) -> None:
        self.digest, self.user, self.cart = make_visitor(), -1, Lines()


class Site(RuleBasedStateMachine):
    """The site. ``away``: Redis is away."""

    redis: Redis
    lives: Lives
    products: list[int]
    users: list[User]

    @initialize()
    def begin(self) -> None:
        self.redis.flushall()
        for model in (Cart, Session):
            model.objects.all().delete()
        rebuild(["product", "cart"])
        self.time, self.away = 0, False
        self.visitors = [Visitor() for _ in range(3)]
        self.parked: tuple[list[Lines], list[Lines]] = ([], [])
        self.past = self.lives.past()

    def teardown(self) -> None:
        if hasattr(self, "parked"):
            self.comes_back()
            rebuild(["product", "cart"])
            assert find_differences() == []
            for number in range(3):
                self.look(number)

    # --- visitors

    @rule(number=who, product=which, quantity=st.integers(0, 3))
    def set(self, number: int, product: int, quantity: int) -> None:
        visitor = self.visitors[number]
        carts.set_line(visitor.digest, self.products[product], quantity)
        self.put(visitor.cart, self.products[product], quantity)
        self.look(number)

    @rule(number=who, product=which, quantity=st.integers(1, 3))
    def add(self, number: int, product: int, quantity: int) -> None:
        visitor = self.visitors[number]
        carts.add_copies(visitor.digest, self.products[product], quantity)
        before, _ = visitor.cart.get(self.products[product], (0, 0))
        self.put(visitor.cart, self.products[product], before + quantity)
        self.look(number)

    @rule(number=who)
    def order(self, number: int) -> None:
        with transaction.atomic():
            if cart := storage.lock_cart(self.visitors[number].digest):
                storage.empty(cart)
        self.visitors[number].cart.clear()

    def look(self, number: int) -> None:
        """Check what the visitor sees. A request after one that left changes reads SQL."""
        visitor = self.visitors[number]
        wanted = sorted((added, product, copies) for product, (copies, added) in visitor.cart.items())
        drain_all()
        shown = read_quantities(visitor.digest)
        assert list(shown.items()) == [(product, copies) for _, product, copies in wanted]

    @rule(number=who, user=st.integers(0, 1))
    def log_in(self, number: int, user: int) -> None:
        visitor = self.visitors[number]
        if visitor.user >= 0:
            self.log_out(number)
            visitor = self.visitors[number]
        new = make_visitor(self.users[user])
        with transaction.atomic():
            Session.objects.filter(pk=visitor.digest).delete()
            storage.move(visitor.digest, new, None)
            storage.gather_parked(self.users[user].pk, new)
        visitor.digest, visitor.user = new, user
        for lines in self.parked[user]:
            for product, (copies, added) in lines.items():
                before, first = visitor.cart.get(product, (0, added))
                visitor.cart[product] = (before + copies, min(first, added))
        self.parked[user].clear()
        self.look(number)

    @rule(number=who)
    def rotate(self, number: int) -> None:
        visitor = self.visitors[number]
        user = self.users[visitor.user] if visitor.user >= 0 else None
        new, user_id = make_visitor(user), user.pk if user else None
        with transaction.atomic():
            Session.objects.filter(pk=visitor.digest).delete()
            storage.move(visitor.digest, new, user_id)
        visitor.digest = new
        self.look(number)

    @rule(number=who)
    def log_out(self, number: int) -> None:
        visitor = self.visitors[number]
        with transaction.atomic():
            storage.park([visitor.digest])
            Session.objects.filter(pk=visitor.digest).delete()
        if visitor.user >= 0 and visitor.cart:
            self.parked[visitor.user].append(visitor.cart)
        self.visitors[number] = Visitor()

    # --- failures

    @precondition(lambda self: not self.away)
    @rule()
    def goes_away(self) -> None:
        self.away = True
        breaker._until = float("inf")

    @precondition(lambda self: self.away)
    @rule()
    def comes_back(self) -> None:
        self.away = False
        breaker.reset()
        sweep()

    @precondition(lambda self: not self.away)
    @rule()
    def remember(self) -> None:
        self.past = self.lives.past()

    @precondition(lambda self: not self.away)
    @rule(is_older=st.booleans(), is_rebuilt=st.booleans())
    def redis_is_lost(self, is_older: bool, is_rebuilt: bool) -> None:
        if is_older:
            self.lives.come_back(self.past)
        else:
            self.redis.flushall()
        if is_rebuilt:
            rebuild(["product", "cart"])

    # --- the model

    def put(self, lines: Lines, product: int, copies: int) -> None:
        self.time += 1
        _, added = lines.pop(product, (0, self.time))
        if copies:
            lines[product] = (copies, added)


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
