"""The page that pays an order exists while a payment is possible; otherwise the order's page gives the reason."""

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from shop.models import Order, OrderState, Payment, PaymentState
from tests.shop.test_checkout_page import text_of
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(client: Client) -> Order:
    alice = User.objects.create_user("alice")
    client.force_login(alice)
    return make_order(alice, make_product())


def test_an_open_payment_accepts_no_other_card(client: Client, order: Order) -> None:
    payment = Payment.objects.create(order=order, key="p", amount=order.total)
    page = client.get(f"/shop/orders/{order.pk}/pay/", follow=True)
    assert page.redirect_chain == [(f"/shop/orders/{order.pk}/", 302)]
    assert text_of(page).count("We are still waiting for the payment provider") == 1
    Payment.objects.filter(pk=payment.pk).update(state=PaymentState.FAILED)
    assert "Card number" in text_of(client.get(f"/shop/orders/{order.pk}/pay/"))


def test_an_expired_order_accepts_no_card(client: Client, order: Order) -> None:
    Order.objects.update(reserved_until=clock.now() - timedelta(seconds=1))
    assert "The payment deadline has passed. The books go back" in text_of(
        client.get(f"/shop/orders/{order.pk}/pay/", follow=True)
    )
    Order.objects.update(state=OrderState.EXPIRED)
    assert "The payment deadline has passed. The books are back" in text_of(
        client.get(f"/shop/orders/{order.pk}/pay/", follow=True)
    )
