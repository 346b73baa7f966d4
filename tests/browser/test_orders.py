"""Ten tasks of staff with orders, from the home page of the admin, in the clicks that ``docs/operations.md`` states."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from shop.models import EventKind, Order, OrderState, Payment, PaymentState
from tests.browser.conftest import Audit, OpenPage, resize
from tests.browser.test_admin import FOREIGN
from tests.browser.test_loginlog import sign_in
from tests.support.shop.make import make_order, make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
DOCS: Final = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


class Desk:
    """Staff at the admin. clicks: since the last task began."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def begin(self) -> None:
        resize(self.page, 1280)
        self.page.goto("/admin/")
        self.clicks = 0

    def click(self, place: Locator) -> None:
        place.click()
        self.clicks += 1

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def open_orders(self, *, to_send: bool = False) -> None:
        if to_send:
            tile = self.page.locator(".tile").filter(has_text="to ship")
            self.click(tile.get_by_role("link").first)
        else:
            self.click(self.page.get_by_role("link", name=re.compile("Orders$")).first)
        expect(self.page.locator("#result_list")).to_be_visible()

    def open_order(self, order: Order) -> None:
        self.click(self.page.locator("#result_list").get_by_role("link", name=f"#{order.pk}", exact=True))
        expect(self.page.get_by_role("heading", name="Actions")).to_be_visible()

    def run_for_all(self, action: str) -> None:
        self.click(self.page.locator("#action-toggle"))
        self.click(self.page.locator("select[name=action]"))
        self.page.locator("select[name=action]").select_option(label=action)
        self.press("Run")

    def choose(self, carrier: str) -> None:
        self.click(self.page.get_by_label("Carrier"))
        self.page.get_by_label("Carrier").select_option(carrier)

    def expect_message(self, text: str) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()


@pytest.fixture
def orders(transactional_db: None) -> list[Order]:
    """Four paid orders, a sent one, and a sent one whose money went back."""
    product = make_product("Emma", price=1250, stock=50)
    now = timezone.now()
    made = []
    for key in ("first", "second", "third", "fourth", "sent", "refunded"):
        is_sent = key in ("sent", "refunded")
        state = OrderState.SENT if is_sent else OrderState.PAID
        order = make_order(None, product, key=key, state=state, paid_at=now, sent_at=now if is_sent else None)
        refunded = order.total if key == "refunded" else 0
        sums = {"amount": order.total, "refunded": refunded}
        Payment.objects.create(order=order, key=key, state=PaymentState.SUCCEEDED, **sums)
        made.append(order)
    rebuild()
    return made


class Staff(Desk):
    """The tasks, by name in ``TASKS``. Each starts at the home page."""

    def __init__(self, page: Page, orders: list[Order]) -> None:
        super().__init__(page)
        self.first, self.second, self.third, _, self.sent, self.refunded = orders

    def see_orders(self) -> None:
        self.open_orders(to_send=True)
        expect(self.page.locator("#result_list tbody tr")).to_have_count(4)

    def send_order(self) -> None:
        self.open_orders(to_send=True)
        self.open_order(self.first)
        self.choose("DHL")
        self.page.get_by_label("Tracking number").fill("JD014600")
        self.press("Mark as sent")
        self.expect_message("Marked as sent.")

    def print_slips(self) -> None:
        self.open_orders(to_send=True)
        self.run_for_all("Packing slips of selected orders")
        expect(self.page.locator(".slip")).to_have_count(3)

    def correct_tracking(self) -> None:
        self.open_orders()
        self.page.locator("#searchbar").fill(f"#{self.first.pk}")
        self.page.locator("#searchbar").press("Enter")
        expect(self.page.locator("#result_list tbody tr")).to_have_count(1)
        self.open_order(self.first)
        self.page.get_by_label("Tracking number").fill("JD014601")
        self.press("Change tracking")
        expect(self.page.get_by_role("link", name="Track the parcel")).to_have_attribute(
            "href", re.compile("=JD014601$")
        )

    def cancel_order(self) -> None:
        self.open_orders()
        self.open_order(self.second)
        self.click(self.page.get_by_text("Cancel order…"))
        self.press("Cancel order")
        self.expect_message("Cancelled.")

    def confirm_again(self) -> None:
        self.open_orders()
        self.open_order(self.third)
        self.press("Send the confirmation again")
        self.expect_message("The confirmation is sent again.")

    def add_note(self) -> None:
        self.open_orders()
        self.open_order(self.third)
        self.page.get_by_label("Note for staff").fill("Rings twice.")
        self.press("Add note")
        expect(self.page.get_by_text("Rings twice.").first).to_be_visible()

    def send_orders(self) -> None:
        self.open_orders(to_send=True)
        self.run_for_all("Mark selected orders as sent")
        self.press("Mark as sent")
        self.expect_message("2 orders were marked as sent.")

    def refund_order(self) -> None:
        self.open_orders()
        self.open_order(self.sent)
        self.click(self.page.get_by_text("Refund order…"))
        self.click(self.page.get_by_label("Everything that is left: €12.50"))
        self.press("Refund order")
        self.expect_message("Refund ordered: €12.50.")

    def find_refunded(self) -> None:
        self.open_orders()
        for title, choice in (("fulfilment", "sent"), ("payment", "refunded")):
            self.click(self.page.locator("a", has_text="Filters").first)
            heading = self.page.get_by_role("heading", name=f"By {title}")
            self.click(heading.locator("xpath=..").get_by_role("link", name=choice, exact=True))
            expect(self.page.locator("#result_list")).to_be_visible()
        expect(self.page.locator("#result_list tbody tr")).to_have_count(1)
        expect(self.page.locator("#result_list")).to_contain_text(f"#{self.refunded.pk}")


TASKS: Final[dict[str, Callable[[Staff], None]]] = {
    "See the orders to send": Staff.see_orders,
    "Send an order with carrier and number": Staff.send_order,
    "Print the packing slips of several orders": Staff.print_slips,
    "Correct a tracking number": Staff.correct_tracking,
    "Cancel an order": Staff.cancel_order,
    "Send a confirmation again": Staff.confirm_again,
    "Note something for other staff": Staff.add_note,
    "Send several orders": Staff.send_orders,
    "Refund an order": Staff.refund_order,
    "Find the sent orders whose money went back": Staff.find_refunded,
}


@pytest.mark.slow(60)
def test_tasks_take_the_documented_clicks(
    open_page: OpenPage, live_server: LiveServer, orders: list[Order], audit: Audit
) -> None:
    desk = Staff(sign_in(open_page(), User.objects.create_superuser("carol"), live_server), orders)
    clicks = {}
    for task, do in TASKS.items():
        desk.begin()
        do(desk)
        clicks[task] = desk.clicks
        if task in ("Send an order with carrier and number", "Print the packing slips of several orders"):
            assert audit(desk.page, foreign=FOREIGN) == [], task
    documented = re.findall(r"^\| (.+?) \| (\d+) \|", DOCS.read_text(), re.MULTILINE)
    assert clicks == {task: int(number) for task, number in documented}
    kinds = [EventKind.SENT, EventKind.TRACKED]
    assert list(orders[0].events.values_list("kind", flat=True)) == kinds
