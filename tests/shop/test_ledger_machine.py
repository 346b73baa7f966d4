"""The ledger is correct after each step of any sequence of orders, payments and clock changes.

At the end, when all calls are answered, the provider holds exactly the money of the paid orders.
"""

import os
import random
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import transaction
from django.db.models import Count, F, QuerySet
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from accounts.models import User
from common import clock
from common.refusals import Refused
from shop.invoices.models import Invoice, InvoiceCounter
from shop.models import (
    Cart,
    EventKind,
    Order,
    OrderEvent,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
    Product,
    Refund,
    RefundLine,
)
from shop.payments import Answer, Outcome, PageRequest, TypedCard, calls, fake
from shop.services import checkout
from shop.services.carts import set_line
from shop.services.orders import cancel_order, expire_order, mark_order_sent
from shop.services.payments import find_open_payment, open_payment_page, pay_order, record_answer, refresh_payment
from shop.services.refunds import refund_order
from shop.services.settle import settle_all
from tests.shop.unreliable_provider import UnreliableProvider
from tests.support import state_machines
from tests.support.killed import Killed
from tests.support.shop.carts import make_session
from tests.support.shop.checkouts import HOME, assert_ledger_is_right, is_money_open
from tests.support.shop.make import make_product

pytestmark = pytest.mark.also_on("sqlite")

EXAMPLES, STEPS = int(os.environ.get("LEDGER_EXAMPLES", "10")), 120
MODELS = (Invoice, InvoiceCounter, Cart, OrderEvent, RefundLine, Refund, Payment, Order, Product)
numbers = st.integers(0, 5)
MOODS = (
    "good",
    "refused",
    "late",
    "page",
    "page, no answer",
    "taken, no answer",
    "on its way",
    "lost",
    "crash before",
    "crash after",
)
moods = st.sampled_from(MOODS)


def pick(rows: Any, number: int) -> Any:
    """Return one of these, or None if there are none."""
    found = list(rows)
    return found[number % len(found)] if found else None


def all_orders() -> QuerySet[Order]:
    return Order.objects.order_by("pk")


class Ledger(RuleBasedStateMachine):
    """Buyers, staff, a clock, and a provider that may do anything except charge a key twice."""

    @initialize(
        stock=st.lists(st.integers(2, 5), min_size=1, max_size=2), moods=st.lists(moods, min_size=2, max_size=3)
    )
    def begin(self, stock: list[int], moods: list[str]) -> None:
        """Create some orders with an attempt to pay each, so that every rule has objects to work on."""
        self.alice = User.objects.get_or_create(username="alice")[0]
        self.books = [make_product(f"Book {n}", price=100 + n, stock=count) for n, count in enumerate(stock)]
        self.stock = {book.pk: book.stock for book in self.books}
        self.versions: dict[int, int] = {}  # of carts, by the number of the order
        self.remote, self.now = UnreliableProvider(), clock.now()
        self.stack = ExitStack()
        self.stack.enter_context(override_settings(CLOCK=lambda: self.now))
        for name in ("charge", "find_charge", "forbid_charge", "refund"):
            self.stack.enter_context(patch.object(calls, name, getattr(self.remote, name)))
        for n, mood in enumerate(moods):
            self.order(n, {n: 1})
            self.pay(n, mood)

    def teardown(self) -> None:
        if not hasattr(self, "stack"):
            return
        try:
            self.come_to_rest()
        finally:
            self.stack.close()
            for model in MODELS:
                model._base_manager.all().delete()

    def come_to_rest(self) -> None:
        """Deliver all answers. Then no payment is open, no copy is reserved, and the money is correct."""
        remote = self.remote
        remote.is_down = False
        self._settle_for_long()
        for key in list(remote.on_their_way):  # very late answers
            remote.arrive(key)
        self.provider_decides(True)
        self._settle_for_long()
        assert not is_money_open()
        assert not Order.objects.filter(state=OrderState.RESERVED).exists()
        self.the_ledger_is_right()
        taken = Payment.objects.filter(state__in=(PaymentState.SUCCEEDED, PaymentState.SURPLUS))
        assert remote.held == {payment.key: payment.left for payment in taken}
        refunds = Refund.objects.values_list("key", "payment__key", "amount")
        assert remote.refunds == {key: (charge, amount) for key, charge, amount in refunds}

    def _settle_for_long(self) -> None:
        for _round in range(4):
            self.time_passes(700)
            settle_all()

    # --- buyers

    @rule(key=numbers, lines=st.dictionaries(numbers, st.integers(1, 2), min_size=1, max_size=3))
    def order(self, key: int, lines: dict[int, int]) -> None:
        digest, before = make_session(f"cart {key}"), None
        if key in self.versions:
            before = Order.objects.filter(key=checkout.make_order_key(digest, self.versions[key])).first()
        try:
            if key not in self.versions:
                for n, count in lines.items():
                    self.versions[key] = set_line(digest, self.books[n % len(self.books)].pk, count).version
            made = checkout.begin_checkout(self.alice, digest, version=self.versions[key], total=10_000, address=HOME)
        except Refused:
            assert before is None
        else:
            assert before in (None, made)

    @rule(which=numbers, mood=moods)
    def pay(self, which: int, mood: str) -> None:
        if order := pick(all_orders(), which):
            self.remote.mood = mood
            with suppress(Refused, Killed):
                pay_order(order, TypedCard(fake.GOOD_CARD))

    @rule(which=numbers, mood=st.sampled_from(("page", "page, no answer", "on its way", "crash after")))
    def go_to_the_page(self, which: int, mood: str) -> None:
        """Open the provider's page, for the first time or again, and perhaps from another tab."""
        if order := pick(all_orders(), which):
            self.remote.mood = mood
            with suppress(Refused, Killed):
                page = open_payment_page(order, PageRequest(order.pk, order.email, "https://books.example/"))
                assert not page or self.remote.has_page(page[1:])

    @rule(which=numbers)
    def pay_on_the_page(self, which: int) -> None:
        if key := pick([key for key in self.remote.known if self.remote.has_page(key)], which):
            self.remote.known[key] = Outcome.SUCCEEDED

    @rule(which=numbers)
    def come_back_from_the_page(self, which: int) -> None:
        if (order := pick(all_orders(), which)) and (payment := find_open_payment(order)):
            refresh_payment(payment)

    @rule(which=numbers)
    def cancel(self, which: int) -> None:
        self._try(cancel_order, which, self.alice)

    # --- the provider

    @rule(which=numbers)
    def a_charge_arrives(self, which: int) -> None:
        if key := pick(self.remote.on_their_way, which):
            self.remote.arrive(key)

    @rule(succeeds=st.booleans())
    def provider_decides(self, succeeds: bool) -> None:
        for key, outcome in self.remote.known.items():
            if outcome is Outcome.PENDING:
                self.remote.known[key] = Outcome.SUCCEEDED if succeeds else Outcome.FAILED

    @rule(which=numbers)
    def provider_calls_back(self, which: int) -> None:
        if key := pick(self.remote.known, which):
            record_answer(key, self.remote.report(key))

    @rule(which=st.integers(0, 10**6))
    def an_earlier_callback_arrives_again(self, which: int) -> None:
        if found := pick(self.remote.callbacks, which):
            record_answer(found[0], Answer(found[1], "ref"))

    @rule(which=numbers)
    def what_was_refused_was_charged_after_all(self, which: int) -> None:
        failed = [key for key, outcome in self.remote.known.items() if outcome is Outcome.FAILED]
        if key := pick([key for key in failed if self.remote.amounts[key]], which):
            self.remote.known[key] = Outcome.SUCCEEDED
            record_answer(key, Answer(Outcome.SUCCEEDED, "ref"))

    @rule(which=numbers)
    def an_answer_is_taken_down_and_the_process_dies_before_the_commit(self, which: int) -> None:
        if key := pick(self.remote.known, which):
            with transaction.atomic():
                record_answer(key, Answer(self.remote.known[key], "ref"))
                transaction.set_rollback(True)

    @rule(is_down=st.booleans())
    def provider_goes_and_comes(self, is_down: bool) -> None:
        self.remote.is_down = is_down

    # --- the shop

    @rule()
    def settle(self) -> None:
        settle_all()

    @rule(seconds=st.sampled_from([1, 6, 60, 590, 700]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(which=numbers)
    def expire(self, which: int) -> None:
        self._try(expire_order, which)

    @rule(which=numbers)
    def send(self, which: int) -> None:
        self._try(mark_order_sent, which)

    @rule(which=numbers, cents=st.integers(0, 210))
    def refund_an_amount(self, which: int, cents: int) -> None:
        self._try(lambda pk: refund_order(pk, amount=cents), which)

    @rule(which=numbers, count=st.integers(0, 3))
    def refund_copies(self, which: int, count: int) -> None:
        def refund(pk: int) -> None:
            lines = OrderLine.objects.filter(order=pk).values_list("pk", flat=True)
            refund_order(pk, quantities=dict.fromkeys(lines, count))

        self._try(refund, which)

    @rule(which=numbers)
    def refund_all(self, which: int) -> None:
        self._try(refund_order, which)

    @rule(which=numbers, count=st.integers(1, 3))
    def copies_arrive(self, which: int, count: int) -> None:
        book = self.books[which % len(self.books)]
        Product.objects.filter(pk=book.pk).update(stock=F("stock") + count)
        self.stock[book.pk] += count

    @rule(which=numbers, is_active=st.booleans())
    def take_off_sale(self, which: int, is_active: bool) -> None:
        Product.objects.filter(pk=self.books[which % len(self.books)].pk).update(is_active=is_active)

    def _try(self, do: Any, which: int, *args: Any) -> None:
        if order := pick(all_orders(), which):
            with suppress(Refused):
                do(order.pk, *args)

    # --- invariants

    @invariant()
    def the_ledger_is_right(self) -> None:
        if not hasattr(self, "stock"):
            return
        assert_ledger_is_right(self.stock)
        held = self.remote.held
        for payment in Payment.objects.filter(state__in=(PaymentState.SUCCEEDED, PaymentState.SURPLUS)):
            # A refund may be made, and its answer be lost.
            assert payment.left <= held[payment.key] <= payment.amount - payment.refunded
        once = (EventKind.ORDERED, EventKind.EXPIRED, EventKind.CANCELLED, EventKind.SENT)
        steps = OrderEvent.objects.filter(kind__in=once).values("order", "kind").annotate(n=Count("pk"))
        assert [step for step in steps if step["n"] > 1] == []


@pytest.mark.django_db
def test_the_ledger_is_correct_after_any_steps() -> None:
    state_machines.run_machine(Ledger, examples=EXAMPLES, steps=40)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(6))
def test_the_ledger_is_correct_after_a_long_random_run(seed: int) -> None:
    """Hypothesis prefers short and unusual runs. This one is long, and all steps are equally frequent."""
    chance, life = random.Random(seed), Ledger()
    life.begin([chance.randint(2, 5) for _ in range(2)], ["on its way", "late", chance.choice(MOODS)])
    things: list[Callable[[], None]] = [
        lambda: life.order(chance.randrange(40), {chance.randrange(2): chance.randint(1, 2) for _ in range(2)}),
        lambda: life.pay(chance.randrange(40), chance.choice(MOODS)),
        lambda: life.pay(chance.randrange(40), chance.choice(MOODS)),
        lambda: life.go_to_the_page(chance.randrange(40), chance.choice(("page", "page, no answer", "on its way"))),
        lambda: life.pay_on_the_page(chance.randrange(40)),
        lambda: life.come_back_from_the_page(chance.randrange(40)),
        lambda: life.an_earlier_callback_arrives_again(chance.randrange(10**6)),
        lambda: life.cancel(chance.randrange(40)),
        lambda: life.a_charge_arrives(chance.randrange(40)),
        lambda: life.provider_decides(chance.random() < 0.7),
        lambda: life.provider_calls_back(chance.randrange(40)),
        lambda: life.what_was_refused_was_charged_after_all(chance.randrange(40)),
        lambda: life.an_answer_is_taken_down_and_the_process_dies_before_the_commit(chance.randrange(40)),
        lambda: life.provider_goes_and_comes(chance.random() < 0.3),
        lambda: life.settle(),
        lambda: life.time_passes(chance.choice([1, 6, 60, 590])),
        lambda: life.expire(chance.randrange(40)),
        lambda: life.send(chance.randrange(40)),
        lambda: life.refund_an_amount(chance.randrange(40), chance.randrange(210)),
        lambda: life.refund_copies(chance.randrange(40), chance.randrange(3)),
        lambda: life.refund_all(chance.randrange(40)),
        lambda: life.copies_arrive(chance.randrange(2), 1),
        lambda: life.take_off_sale(chance.randrange(2), chance.random() < 0.8),
    ]
    try:
        for _ in range(STEPS):
            chance.choice(things)()
            life.the_ledger_is_right()
    finally:
        life.teardown()
