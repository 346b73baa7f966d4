"""Processes are killed while they issue invoices and credit notes: no number is missing, and none is given twice."""

import signal

from accounts.models import User
from shop.invoices.models import Invoice
from shop.models import Order, OrderState, Payment
from shop.services.settle import settle_all
from tests.faults.payers import DEATHS
from tests.support.faults.crew import Crew
from tests.support.servers import PATIENCE_SECONDS
from tests.support.shop.checkouts import (
    assert_invoices_are_right,
    assert_ledger_is_right,
    check_out,
    is_money_open,
    make_cart,
    make_payments_due,
)
from tests.support.shop.make import make_product

ORDERS = 60


def test_numbers_have_no_gaps_after_processes_were_killed(crew: Crew, transactional_db: None) -> None:
    alice, book = User.objects.create_user("alice"), make_product(stock=ORDERS)
    orders = [check_out(alice, make_cart(f"cart {n}", book)).pk for n in range(ORDERS)]
    payers = crew.start("payers", f"tests.faults.payers {' '.join(map(str, orders))}")
    assert payers.wait(PATIENCE_SECONDS) == 0
    ended = crew.said("payers").split()[-DEATHS:]
    assert ended.count(str(-signal.SIGKILL)) >= DEATHS // 2, ended
    assert_invoices_are_right()
    assert Invoice.objects.count() >= 2, "some documents were complete"
    assert is_money_open(), "some payers died before their commit"

    make_payments_due()
    settle_all()
    assert not is_money_open()
    assert not Payment.objects.filter(order__state=OrderState.RESERVED, state="succeeded").exists()
    assert_ledger_is_right({book.pk: ORDERS})
    assert Order.objects.filter(state=OrderState.PAID).count() >= DEATHS // 2
