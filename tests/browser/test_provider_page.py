"""A buyer pays on the page of the provider and comes back, with JavaScript and without it."""

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from shop.models import Order, OrderState, Product
from tests.browser.conftest import PHONE, Audit
from tests.browser.test_loginlog import sign_in
from tests.shop.test_stripe import book, remote
from tests.support.shop.make import make_order
from tests.support.shop.stripe_double import StripeDouble

__all__ = ["book", "remote"]  # fixtures
pytestmark = pytest.mark.django_db(transaction=True)


def test_order_is_paid_on_the_page_of_the_provider(
    browser: Browser, live_server: LiveServer, settings: Settings, remote: StripeDouble, book: Product, audit: Audit
) -> None:
    settings.SITE_URL = live_server.url
    alice = User.objects.create_user("alice", email="alice@example.org")
    Product.objects.update(reserved=2)  # the copies of both orders
    for has_scripts in (True, False):
        order = make_order(alice, book, key=str(has_scripts))
        # A context of its own: those of the other tests visit no other host.
        with browser.new_context(viewport=PHONE, java_script_enabled=has_scripts, reduced_motion="reduce") as context:
            page = sign_in(context.new_page(), alice, live_server)
            page.goto(f"{live_server.url}/shop/orders/{order.pk}/pay/")
            expect(page.get_by_text("the secure page of Stripe")).to_be_visible()
            if has_scripts:  # axe needs them
                assert audit(page) == []
            page.get_by_role("button", name="Pay €").press("Enter")
            # The buyer comes back once without having paid.
            expect(page.get_by_role("button", name="Pay at Stripe")).to_be_visible()
            page.goto(f"{live_server.url}/shop/orders/{order.pk}/pay/")
            page.get_by_role("button", name="Pay €").click()
            page.get_by_role("button", name="Pay at Stripe").click()
            expect(page.get_by_role("status").first).to_contain_text("Your order is paid.")
        assert Order.objects.get(pk=order.pk).state == OrderState.PAID
    assert len(remote.sessions) == 2
