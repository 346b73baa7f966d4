"""Payments on Stripe's own page (Checkout Sessions), by Stripe's library, which ``requirements-stripe.txt`` installs.

The shop never sees a card. Stripe calls an attempt to pay a session: it is open, complete or expired. The idempotency
key of a session is the key of the payment, so that a late request cannot open one after the shop gave it up.
"""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import stripe
from django.conf import settings
from django.utils.translation import gettext, gettext_noop
from stripe.checkout import Session
from stripe.params.checkout import SessionCreateParams

from common import clock
from shop.money import get_decimals
from shop.payments import (
    Answer,
    BadSignature,
    Means,
    Outcome,
    PageRequest,
    ProviderPage,
    TestCard,
    is_key,
    read_key_time,
)

logger = logging.getLogger("shop")
# Stripe's own decimals of currencies: https://docs.stripe.com/currencies. All others have two, also those without cents
# by ISO 4217, such as the Icelandic króna.
NO_DECIMALS: Final = frozenset(
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"]
)
THREE_DECIMALS: Final = frozenset(["BHD", "JOD", "KWD", "OMR", "TND"])
# Stripe keeps a session open for at least half an hour; the shop ends it with the time to pay.
OPEN_TIME: Final = timedelta(minutes=31)
CLOCK_SLACK: Final = timedelta(minutes=5)  # between the clocks of both, and for a request that is on its way
MAX_ROWS: Final = 100  # per page of a list, the most that Stripe returns
NOT_OPENED: Final = gettext_noop("the payment page could not be opened, and nothing was charged")
NOT_COMPLETED: Final = gettext_noop("the payment was not completed, and nothing was charged")


class StripeCheckout:
    """The provider; see the module."""

    test_cards: tuple[TestCard, ...] = ()

    def __init__(self) -> None:
        stripe.enable_telemetry = False
        client = stripe.StripeClient(
            settings.STRIPE_API_KEY,
            base_addresses={"api": settings.STRIPE_API_URL},
            # ``calls`` abandons a call earlier; this ends its thread. The shop repeats calls itself.
            http_client=stripe.RequestsClient(timeout=settings.PAYMENT_TIMEOUT_SECONDS),
            max_network_retries=0,
        )
        self._sessions, self._refunds = client.v1.checkout.sessions, client.v1.refunds

    @property
    def page(self) -> ProviderPage:
        """Stripe's page, or the shop's own domain for it."""
        return ProviderPage("Stripe", settings.STRIPE_PAGE_ORIGIN)

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        """Open the page that takes the payment."""
        if not isinstance(means, PageRequest):
            raise TypeError("Stripe takes cards on its own page only.")
        try:
            session = self._sessions.create(_describe_payment(key, amount, means), {"idempotency_key": key})
        except stripe.InvalidRequestError as error:
            # Refused for good, so no session exists: a wrong currency or an amount below Stripe's minimum.
            logger.error("Stripe refused to open a page: %s %s", error.code, error.param)
            return Answer(Outcome.FAILED, reason=NOT_OPENED)
        return _make_answer(session)

    def find(self, key: str) -> Answer | None:
        """Return the outcome, with the address of the page while it is open."""
        session = self._find_session(key)
        return None if session is None else _make_answer(session)

    def _find_session(self, key: str) -> Session | None:
        # By the time in the key: Stripe searches sessions by nothing else without a delay of minutes.
        opened = read_key_time(key)
        since, until = (int((opened + slack).timestamp()) for slack in (-CLOCK_SLACK, CLOCK_SLACK))
        found = self._sessions.list({"created": {"gte": since, "lte": until}, "limit": MAX_ROWS})
        return next((row for row in found.auto_paging_iter() if row.client_reference_id == key), None)

    def give_up(self, key: str) -> Answer:
        """End the session. Without one, use up the key, so that a late request cannot open one."""
        session = self._find_session(key) or self._use_up(key)
        if session.status == "open":
            try:
                session = self._sessions.expire(session.id)
            except stripe.InvalidRequestError:
                # It was paid or has ended since.
                session = self._sessions.retrieve(session.id)
        return _make_answer(session)

    def _use_up(self, key: str) -> Session:
        """Open a session that cannot take money. Stripe then refuses any other request with this idempotency key.

        Raises Stripe's error about the key if the request to pay has arrived meanwhile.
        """
        params: SessionCreateParams = {
            "mode": "setup",
            "client_reference_id": key,
            "allowed_payment_method_types": ["card"],
            "success_url": settings.SITE_URL,
        }
        return self._sessions.create(params, {"idempotency_key": key})

    def refund(self, key: str, refund: str, amount: int) -> None:
        """Refund a part of a payment. Raises LookupError if nothing was paid."""
        session = self._find_session(key)
        if session is None or not session.payment_intent:
            raise LookupError("Nothing was paid under this key.")
        intent = str(session.payment_intent)
        # Stripe forgets idempotency keys after a day, and the shop may repeat a call later.
        made = self._refunds.list({"payment_intent": intent, "limit": MAX_ROWS})
        if any(row.metadata and row.metadata.to_dict().get("refund") == refund for row in made.auto_paging_iter()):
            return
        self._refunds.create(
            {"payment_intent": intent, "amount": _to_stripe(amount), "metadata": {"refund": refund}},
            {"idempotency_key": f"refund-{refund}"},
        )

    def decode_callback(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, Answer] | None:
        """Decode an event about a session. Others return None: the account may send any, also about other sites."""
        try:
            event = stripe.Webhook.construct_event(
                body, headers.get("Stripe-Signature", ""), settings.PAYMENT_CALLBACK_SECRET
            )
            if not event.type.startswith("checkout.session."):
                return None
            session = Session.construct_from(event.data.object, None)
            key = session.client_reference_id
            return (key, _make_answer(session)) if key and is_key(key) else None
        except (stripe.SignatureVerificationError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise BadSignature from error


def _describe_payment(key: str, amount: int, page: PageRequest) -> SessionCreateParams:
    label = gettext("Order %(number)s") % {"number": page.order_id}
    return {
        "mode": "payment",
        "client_reference_id": key,
        # Cards and the wallets of cards, which are decided at once: others would keep copies reserved for days.
        "allowed_payment_method_types": ["card"],
        "customer_email": page.email,
        "success_url": page.return_address,
        "cancel_url": page.return_address,
        "expires_at": int((clock.now() + OPEN_TIME).timestamp()),
        "payment_intent_data": {"description": label, "metadata": {"order": str(page.order_id)}},
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": settings.SHOP_CURRENCY.lower(),
                    "unit_amount": _to_stripe(amount),
                    "product_data": {"name": label},
                },
            }
        ],
    }


def _to_stripe(cents: int) -> int:
    """Return an amount in the units of Stripe, which may have more decimals than the currency."""
    currency = settings.SHOP_CURRENCY
    decimals = 0 if currency in NO_DECIMALS else 3 if currency in THREE_DECIMALS else 2
    return int(cents * 10 ** (decimals - get_decimals()))


def _make_answer(session: Session) -> Answer:
    # A session that uses up a key is none of a payment.
    if session.mode != "payment" or session.status == "expired":
        return Answer(Outcome.FAILED, reason=NOT_COMPLETED)
    if session.payment_status == "paid":
        return Answer(Outcome.SUCCEEDED, reference=str(session.payment_intent or session.id))
    return Answer(Outcome.PENDING, reference=session.id, page=session.url or "")
