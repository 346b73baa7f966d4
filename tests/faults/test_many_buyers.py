"""500 buyers of 10 copies use several web processes over HTTP, while Redis is killed and restarted."""

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from accounts.sessions.rows import hash_token
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from shop.carts import reading
from shop.models import FakeCharge, Order, OrderState, Payment, Product
from shop.payments import fake
from shop.services.settle import settle_all
from tests.faults.buyers import Buyer, Page, make_people
from tests.support.faults.crew import Crew
from tests.support.faults.web import start_site
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until
from tests.support.shop.checkouts import assert_ledger_is_right, assert_settled, is_money_open, make_payments_due
from tests.support.shop.make import make_product

BUYERS = int(os.environ.get("RUSH_BUYERS", "500"))
COPIES, AT_ONCE = 10, 40
LOOK = 10  # one buyer in ten opens the page; the others know the content of its form
KILLED_AFTER, BACK_AFTER = 3, 150  # numbers of responses


@pytest.fixture
def book(crew: Crew, transactional_db: None) -> Product:
    return make_product("The Last Copies", stock=COPIES)


def nothing_is_open() -> bool:
    """Settle the open payments. Return whether all are closed then."""
    make_payments_due()
    settle_all()
    return not is_money_open()


class Rush:
    """All buyers submit concurrently. Meanwhile Redis is killed and restarted."""

    def __init__(self, buyers: list[Buyer], redis: RedisServer) -> None:
        self.buyers, self.redis = buyers, redis
        self.answers: list[Page] = []
        self.answered = threading.Condition()

    def run(self) -> list[Page]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            pages = pool.map(self._buy, self.buyers)
            self._wait_for(KILLED_AFTER)
            self.redis.kill()
            self._wait_for(min(BACK_AFTER, len(self.buyers) // 2))
            self.redis.start()
            return list(pages)

    def _buy(self, buyer: Buyer) -> Page:
        page = buyer.buy()
        with self.answered:
            self.answers.append(page)
            self.answered.notify_all()
        return page

    def _wait_for(self, count: int) -> None:
        with self.answered:
            assert self.answered.wait_for(lambda: len(self.answers) >= count, PATIENCE_SECONDS)


@pytest.mark.slow(40)
def test_10_of_500_buyers_get_a_copy_and_all_others_are_refused(
    book: Product, crew: Crew, redis_server: RedisServer
) -> None:
    people = make_people(BUYERS, book)
    port = start_site(crew, 2, PAYMENT_TIMEOUT_SECONDS="1")
    cards = (fake.GOOD_CARD, fake.TWO_CALLBACKS_CARD, fake.CHARGED_HANGING_CARD)
    buyers = [Buyer(port, token, form, cards[n % 3]) for n, (token, form) in enumerate(people.items())]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert {page.code for page in pool.map(Buyer.look, buyers[::LOOK])} == {200}
    assert [buyer.cart for buyer in buyers] == list(people.values())

    pages = Rush(buyers, redis_server).run()

    won = [page for page in pages if page.code == 302]
    lost = [page for page in pages if page.code == 409]
    assert Counter(page.code for page in pages) == {302: COPIES, 409: BUYERS - COPIES}
    assert len({page.location for page in won}) == COPIES
    assert [
        page.words for page in lost if not ("not enough copies left" in page.words and "Sold out" in page.words)
    ] == []
    breaker.reset()
    wait_until(nothing_is_open, "the end of all payments", PATIENCE_SECONDS)
    assert Order.objects.filter(state=OrderState.PAID).count() == Order.objects.count() == COPIES
    assert {f"/shop/orders/{pk}/" for pk in Order.objects.values_list("pk", flat=True)} == {p.location for p in won}
    assert_ledger_is_right({book.pk: COPIES})
    assert_settled()
    drain_all()
    assert verify(["product"]) == []


def test_50_identical_submits_give_one_order_and_one_charge(book: Product, crew: Crew) -> None:
    [token] = make_people(1, book)
    buyer = Buyer(start_site(crew, 2, PAYMENT_TIMEOUT_SECONDS="600"), token)
    buyer.look()
    with ThreadPoolExecutor(50) as pool:
        pages = list(pool.map(lambda n: buyer.buy(), range(50)))
    order = Order.objects.get()
    assert Counter((page.code, page.location) for page in pages) == {(302, f"/shop/orders/{order.pk}/"): 50}
    assert order.state == OrderState.PAID
    assert FakeCharge.objects.count() == Payment.objects.count() == 1
    assert reading.read_cart(hash_token(token)).lines == {}
    assert_ledger_is_right({book.pk: COPIES})
    assert_settled()
