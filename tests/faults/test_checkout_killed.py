"""The web process is killed during a payment: no paid order is lost, and no buyer is charged twice."""

from pathlib import Path

import pytest

from accounts.sessions.rows import hash_token
from shop.carts import reading
from shop.models import FakeCharge, Order, OrderState, Payment, PaymentState, Product
from shop.services.settle import settle_all
from tests.faults.buyers import Buyer, Page, make_people
from tests.support.faults.crew import Crew
from tests.support.faults.web import start_site
from tests.support.servers import PATIENCE_SECONDS, wait_until
from tests.support.shop.checkouts import (
    CARD_FIELDS,
    assert_ledger_is_right,
    assert_settled,
    make_payments_due,
    run_together,
)
from tests.support.shop.make import make_product


@pytest.fixture
def book(crew: Crew, transactional_db: None) -> Product:
    return make_product(stock=3)


@pytest.fixture
def deadly(tmp_path: Path) -> dict[str, str]:
    return {"DEADLY_FILE": str(tmp_path / "one has died"), "PAYMENT_TIMEOUT_SECONDS": "600"}


def buy_again(buyer: Buyer) -> Page:
    """Submit the form again until a response arrives, as a buyer without a response does."""
    pages: list[Page] = []

    def answered() -> bool:
        try:
            pages.append(buyer.buy())
        except OSError:
            return False
        return True

    wait_until(answered, "an answer", PATIENCE_SECONDS)
    return pages[0]


@pytest.mark.parametrize("moment", ["BeforeTheCharge", "AfterTheCharge"])
def test_process_killed_during_a_payment_leaves_a_correct_ledger(
    book: Product, crew: Crew, deadly: dict[str, str], moment: str
) -> None:
    [token] = make_people(1, book)
    port = start_site(crew, PAYMENT_PROVIDER=f"tests.faults.deadly.{moment}", **deadly)
    buyer = Buyer(port, token)
    buyer.look()
    with pytest.raises(OSError, match=r"."):
        buyer.buy()
    order = Order.objects.get()
    assert (order.state, Payment.objects.get().state) == (OrderState.RESERVED, PaymentState.STARTED)
    assert FakeCharge.objects.exists() == (moment == "AfterTheCharge")

    page = buy_again(buyer)  # the outcome of the first attempt is still unknown
    assert (page.code, page.location) == (302, f"/shop/orders/{order.pk}/")
    assert reading.read_cart(hash_token(token)).lines == {}
    make_payments_due()
    run_together(2, lambda n: settle_all())
    if moment == "BeforeTheCharge":  # no money was taken, so the page offers another attempt
        assert Payment.objects.get().state == PaymentState.FAILED
        page = buyer.ask("POST", f"/shop/orders/{order.pk}/pay/", CARD_FIELDS | {"card": buyer.card})
        assert page.location == f"/shop/orders/{order.pk}/"
    assert Order.objects.get().state == OrderState.PAID
    assert FakeCharge.objects.filter(succeeds=True).count() == 1
    assert_ledger_is_right({book.pk: 3})
    assert_settled()
