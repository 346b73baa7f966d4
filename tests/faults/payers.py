"""Processes that pay and refund orders, each killed while it issues a document: ``python -m tests.faults.payers
ORDER...``.

Payers are forked before this process has a connection or a thread: a fork of the test's own process would inherit both,
and wait for ever for a lock whose owner does not exist in the copy.
"""

import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

DEATHS: Final = 30
TOGETHER: Final = 3  # payers that run at once, and wait for each other's counter
MOMENTS: Final = 6  # before and after the number and the row of one document, for two documents


def _die_at(moment: int) -> Callable[..., Any]:
    """Return a wrapper that kills this process before (even) or after (odd) a write to the tables of invoices."""
    writes = count()

    def execute(do: Callable[..., Any], sql: str, *asked: Any) -> Any:
        if "invoices_" not in sql or sql.lstrip().startswith("SELECT"):
            return do(sql, *asked)
        number = 2 * next(writes)
        if number == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        result = do(sql, *asked)
        if number + 1 == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return execute


def pay_and_die(orders: Sequence[int], moment: int) -> None:
    """Pay these orders and refund a part of each, until the moment to die."""
    from django.db import connection

    from common.refusals import Refused
    from shop.models import Order, OrderState
    from shop.payments import TypedCard, fake
    from shop.services.payments import pay_order
    from shop.services.refunds import refund_order

    with connection.execute_wrapper(_die_at(moment)):
        for pk in orders:
            try:
                order = pay_order(Order.objects.get(pk=pk), TypedCard(fake.GOOD_CARD))
                if order.state == OrderState.PAID:
                    refund_order(pk, amount=100)
            except Refused:  # another payer was faster
                continue
    os._exit(0)


def main(orders: list[int]) -> None:
    """Fork the payers, some at once, and print how each ended."""
    chance, ended = random.Random(1), []
    for _ in range(DEATHS // TOGETHER):
        children = []
        for _ in range(TOGETHER):
            # Each begins with other orders. A death late in the list happens among payers that go on.
            begin, moment = chance.randrange(len(orders)), chance.randrange(2, 2 + MOMENTS)
            child = os.fork()
            if not child:
                pay_and_die(orders[begin:] + orders[:begin], moment)
            children.append(child)
        ended += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(*ended)


if __name__ == "__main__":
    import django

    django.setup()
    main([int(pk) for pk in sys.argv[1:]])
