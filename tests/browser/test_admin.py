"""The admin as a control room: its figures are reached by clicks alone, and its pages are accessible."""

import re
from typing import Final

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from mirror.models import Change, Job
from shop.models import EventKind, Order, OrderState, Payment, PaymentState
from shop.services.order_steps import record_step
from tests.browser.conftest import LOOKS, Audit, OpenPage, resize
from tests.browser.test_loginlog import sign_in
from tests.support.matrix.addresses import find_addresses
from tests.support.matrix.browser import Browser
from tests.support.matrix.world import MatrixWorld
from tests.support.shop.make import make_order, make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

# In django-unfold, the column of inline tables that deletes a row has no heading, and scrollable regions have one name.
FOREIGN: Final = ("empty-table-header", "landmark-unique")
SELECT2: Final = (".select2-container",)  # the widget of Django's autocomplete fields
EVERY_LOOK: Final = (*LOOKS, (1280, "light"), (390, "dark"))
KINDS: Final = ("changelist", "add", "change")
FINDINGS: Final = [["7", "stale", "book:7"]]
MIRROR: Final = "/admin/mirror/state/book/change/"


@pytest.fixture
def order(transactional_db: None) -> Order:
    """Create a paid order of today, a failed one, and a quarantined change."""
    product = make_product("Emma", price=1250)
    make_order(None, product, key="paid", state=OrderState.PAID, paid_at=timezone.now())
    failed = make_order(None, product, key="failed")
    payment = Payment.objects.create(
        order=failed, key="p", amount=1250, state=PaymentState.FAILED, reason="the card was refused"
    )
    record_step(failed.pk, EventKind.REFUSED, payment=payment, why="the card was refused")
    rebuild()
    Change.objects.create(mirror="book", key="7", attempts=3, quarantined_at=timezone.now(), error="ZeroDivisionError")
    return failed


@pytest.fixture
def staff(open_page: OpenPage, live_server: LiveServer, order: Order) -> Page:
    return sign_in(open_page(), User.objects.create_superuser("carol"), live_server)


@pytest.mark.slow(75)
def test_every_admin_page_is_accessible_and_fits(open_page: OpenPage, live_server: LiveServer, audit: Audit) -> None:
    """Each page in one look, in turn: pages of one kind have the same template, and meet all looks."""
    world = MatrixWorld()
    rebuild()
    Job.objects.create(mirror="book", kind="check", ended_at=timezone.now(), differences=1, findings=FINDINGS)
    Job.objects.create(mirror="book", kind="verify", started_at=timezone.now(), rows=3, total=10)
    staff = sign_in(open_page(), world.staff, live_server)
    browser = Browser(world.staff)
    pages = [
        address.path
        for address in find_addresses(world)
        if address.is_of_admin
        and address.page in KINDS
        and (address.page != "add" or browser.ask("GET", address.path).status_code == 200)  # some rows cannot be added
    ]
    pages = ["/admin/", *pages, MIRROR, "/admin/"]
    found = []
    for number, (width, scheme) in enumerate(EVERY_LOOK):
        resize(staff, width)
        staff.emulate_media(color_scheme=scheme)
        for path in pages[number :: len(EVERY_LOOK)]:
            response = staff.goto(path)
            assert response
            assert response.ok, path
            lines = audit(staff, [(width, scheme)], foreign=FOREIGN, without=SELECT2)
            found += [f"{path}: {line}" for line in lines]
    assert not found, "\n".join(found)


def test_questions_are_answered_by_clicks_from_the_home_page(staff: Page, order: Order) -> None:
    staff.goto("/admin/")
    staff.get_by_role("link", name="€12.50").first.click()
    expect(staff.locator("#result_list tbody tr")).to_have_count(1)
    expect(staff.locator("#result_list")).to_contain_text("€12.50")
    staff.goto("/admin/")
    staff.get_by_role("link", name="Book: 1 quarantined").or_(
        staff.get_by_role("link", name="book: 1 quarantined")
    ).click()
    expect(staff.locator("#result_list")).to_contain_text("ZeroDivisionError")
    staff.goto("/admin/")
    problems = staff.locator(".tile").filter(has_text="Payment problems")
    problems.get_by_role("link", name="1", exact=True).first.click()
    expect(staff.locator("#result_list")).to_contain_text("the card was refused")
    staff.locator("#result_list").get_by_role("link", name=f"#{order.pk}").click()
    expect(staff).to_have_url(re.compile(f"/admin/shop/order/{order.pk}/change/$"))
    expect(staff.get_by_text("the card was refused").first).to_be_visible()


def test_progress_is_live_and_survives_a_reload(staff: Page) -> None:
    job = Job.objects.create(mirror="book", kind="verify", started_at=timezone.now(), rows=3, total=10)
    staff.goto(MIRROR)
    bar = staff.get_by_role("progressbar", name="Progress")
    expect(bar).to_have_attribute("value", "3")
    Job.objects.filter(pk=job.pk).update(rows=7)
    expect(bar).to_have_attribute("value", "7")
    staff.reload()
    expect(bar).to_have_attribute("value", "7")
    Job.objects.filter(pk=job.pk).update(ended_at=timezone.now(), differences=0)
    expect(staff.get_by_text("verification: 0 differences")).to_be_visible()
    expect(bar).to_have_count(0)
