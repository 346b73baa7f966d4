"""Staff in a process of its own: it writes by bulk methods and raw SQL, without signals, and by services of the shop.

Each line of output is one write, in JSON, after its commit. ``hold`` instead holds SQLite's lock until it is killed.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import django
from django.db import DatabaseError, connection, transaction

from common.refusals import Refused

DONE_FILE = "calm"  # its presence in the storm's folder ends the staff's work
PAUSE_SECONDS = (0.3, 1.0)
STOCK_CHANGES = (1, 2)
REFUSED_SHARE = 0.2  # of the steps of returns


class Staff:
    """Writes of the staff. The seed determines their order."""

    def __init__(self, seed: str) -> None:
        self.random, self.numbers = random.Random(f"{seed} staff"), count()

    def write(self) -> None:
        """Write once, and print it."""
        act = self.random.choice(
            (
                self.change_stock, self.change_stock, self.change_prices, self.hide, self.rename_tag, self.send_order,
                self.send_order, self.decide_return, self.decide_return,
            )
        )  # fmt: skip
        cell, value, run = act()
        if not cell:
            return
        began, outcome = time.time(), "done"
        try:
            with transaction.atomic():
                run()
        except Refused:
            outcome = "refused"
        except DatabaseError:
            outcome = "unknown"
            connection.close()
        line = {"cell": cell, "value": value, "outcome": outcome, "began": began, "ended": time.time()}
        print(json.dumps(line), flush=True)

    def change_stock(self) -> tuple[list[object], int, Callable[[], object]]:
        from tests.storm.people import BOOKS

        pk, more = self.random.choice(BOOKS), self.random.choice(STOCK_CHANGES)
        text = "UPDATE shop_product SET stock = stock + %s WHERE book_id = %s"
        return ["stock", pk], more, lambda: self._execute(text, [more, pk])

    def change_prices(self) -> tuple[list[object], int, Callable[[], object]]:
        from shop.models import Product

        third, price = self.random.randrange(3), self.random.randrange(500, 3000)
        ids = [pk for pk in Product.objects.values_list("pk", flat=True) if pk % 3 == third]
        return ["price", third], price, lambda: Product.objects.filter(pk__in=ids).update(price=price)

    def hide(self) -> tuple[list[object], bool, Callable[[], object]]:
        from social.models import Post

        ids = Post.objects.filter(is_hidden=False, user__username__startswith="storm").order_by("-pk")
        pk = ids.values_list("pk", flat=True).first()
        text = "UPDATE social_post SET is_hidden = %s WHERE id = %s"
        return ["hiding", pk] if pk else [], True, lambda: self._execute(text, [True, pk])

    def rename_tag(self) -> tuple[list[object], str, Callable[[], object]]:
        from catalog.models import Tag

        name = f"renamed-{next(self.numbers)}"
        pk = self.random.choice(Tag.objects.exclude(name__startswith="storm").values_list("pk", flat=True)[:10])
        text = "UPDATE catalog_tag SET name = %s WHERE id = %s"
        return ["tag name", pk], name, lambda: self._execute(text, [name, pk])

    def send_order(self) -> tuple[list[object], bool, Callable[[], object]]:
        from shop.models import Order, OrderState
        from shop.services.orders import mark_order_sent

        pk = Order.objects.filter(state=OrderState.PAID).order_by("pk").values_list("pk", flat=True).first()
        return ["sent", pk] if pk else [], True, lambda: mark_order_sent(pk or 0)

    def decide_return(self) -> tuple[list[object], str, Callable[[], object]]:
        """Take the next step of an open return."""
        from shop.models import Return
        from shop.models.returned import OPEN_RETURNS
        from shop.returns.services import accept_return, receive_return, refuse_return

        found = Return.objects.filter(state__in=OPEN_RETURNS).order_by("pk").first()
        if found is None:
            return [], "", lambda: None
        cell: list[object] = ["decision", found.pk]
        if self.random.random() < REFUSED_SHARE:
            return cell, "refused", lambda: refuse_return(found.pk, answer="It was read in a storm.")
        if found.state == "asked":
            return cell, "accepted", lambda: accept_return(found.pk)
        restock = self.random.random() < 0.5
        return cell, "received", lambda: receive_return(found.pk, restock=restock)

    def _execute(self, text: str, values: list[Any]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(text, values)


def hold_lock() -> None:
    """Hold the write lock of SQLite until this process is killed."""
    with transaction.atomic():
        print("held", flush=True)
        time.sleep(3600)


def main(what: str) -> None:
    """Write until the file appears."""
    if what == "hold":
        hold_lock()
    staff, done = Staff(what), Path(os.environ["STORM_FOLDER"]) / DONE_FILE
    while not done.exists():
        try:
            staff.write()
        except DatabaseError:  # while choosing what to write
            connection.close()
        time.sleep(staff.random.uniform(*PAUSE_SECONDS))


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1])
