"""What simulated buyers do after an order was sent: they return some of its books."""

import re
from collections.abc import Callable

from tests.storm.ledger import Outcome
from tests.storm.library import Librarian

_QUANTITY = re.compile(r'name="(quantity-\d+)"')


class Buyer(Librarian):
    """A person who also returns books."""

    def list_acts(self) -> list[tuple[Callable[[], None], int]]:
        """Return the acts with their weights."""
        return [*super().list_acts(), (self.return_books, 4)]

    def return_books(self) -> None:
        """Ask for the return of a copy of each of some books of an order."""
        orders = [entry.value for entry in self.ledger.entries["order", self.name] if entry.outcome == Outcome.DONE]
        if not orders:
            return
        pk, visit = self.random.choice(orders), self.pick_visit()
        path = f"/shop/orders/{pk}/return/"
        page = self.ask(visit, path)
        # Before the order is sent, and when nothing is left of it, the page leads to the order.
        if page.path != path or page.status != 200:
            return
        chosen = [name for name in _QUANTITY.findall(page.text) if self.random.random() < 0.7]
        self.write(
            ("return", self.name), pk, path, dict.fromkeys(chosen, 1),
            visit=visit, accept="text/html", is_done=lambda answer: answer.path == f"/shop/orders/{pk}/",
        )  # fmt: skip
