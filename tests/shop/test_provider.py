"""Every payment provider keeps the promises of ``shop.payments.Provider``."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
import stripe
from pytest_django.fixtures import Settings

from common import clock
from shop.payments import (
    Answer,
    BadSignature,
    Means,
    Outcome,
    PageRequest,
    Provider,
    TypedCard,
    fake,
    make_key,
    stripe_checkout,
)
from tests.support.shop.stripe_double import SECRET, StripeDouble, run_double

pytestmark = pytest.mark.django_db
GOOD, BAD = TypedCard(fake.GOOD_CARD), TypedCard(fake.REFUSED_CARD)


class ProviderCase(NamedTuple):
    """A provider under test, with a card that succeeds and one that is declined."""

    provider: Provider
    good: TypedCard
    bad: TypedCard


@pytest.fixture
def fake_case() -> ProviderCase:
    return ProviderCase(fake.FakeProvider(), GOOD, BAD)


class PaidAtOnce(stripe_checkout.StripeCheckout):
    """Stripe with a buyer who pays on the page with a card that succeeds, and otherwise gives up."""

    def __init__(self, double: StripeDouble) -> None:
        super().__init__()
        self.double = double

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        try:
            super().charge(key, amount, PageRequest(1, "a@example.org", "https://books.example/"))
        except stripe.IdempotencyError:
            return self.give_up(key)
        if means is GOOD:
            self.double.pay(key)
        return self.give_up(key)


@pytest.fixture
def stripe_case(settings: Settings) -> Iterator[ProviderCase]:
    settings.STRIPE_API_KEY, settings.PAYMENT_CALLBACK_SECRET = "sk_test_1", SECRET
    with run_double() as double:
        settings.STRIPE_API_URL = double.address
        yield ProviderCase(PaidAtOnce(double), GOOD, BAD)


@pytest.fixture
def key() -> str:
    """Return a new key, because Stripe's payments are found by the time in it."""
    return make_key(clock.now())


@pytest.fixture(params=["fake_case", "stripe_case"])
def case(request: pytest.FixtureRequest) -> ProviderCase:
    """Return the case of each provider, from a fixture of its own, which may start a stub of the provider's API."""
    found: ProviderCase = request.getfixturevalue(request.param)
    return found


def test_a_key_is_charged_once(case: ProviderCase, key: str) -> None:
    first = case.provider.charge(key, 500, case.good)
    assert first.outcome is Outcome.SUCCEEDED
    assert first.reference
    assert case.provider.charge(key, 900, case.bad) == first
    assert case.provider.find(key) == first


def test_an_unknown_key_has_no_outcome(case: ProviderCase) -> None:
    assert case.provider.find(make_key(clock.now())) is None


def test_a_declined_card_fails_with_a_reason(case: ProviderCase, key: str) -> None:
    answer = case.provider.charge(key, 500, case.bad)
    assert answer.outcome is Outcome.FAILED
    assert answer.reason
    assert case.provider.find(key) == answer


def test_a_forbidden_key_is_never_charged(case: ProviderCase, key: str) -> None:
    assert case.provider.give_up(key).outcome is Outcome.FAILED
    assert case.provider.charge(key, 500, case.good).outcome is Outcome.FAILED


def test_forbidding_a_key_reports_an_earlier_charge(case: ProviderCase, key: str) -> None:
    answer = case.provider.charge(key, 500, case.good)
    assert case.provider.give_up(key) == answer


def test_parts_are_refunded_once_each_and_never_more_than_was_charged(case: ProviderCase, key: str) -> None:
    case.provider.charge(key, 500, case.good)
    for _time in range(2):
        case.provider.refund(key, "first", 200)
        case.provider.refund(key, "second", 250)
    with pytest.raises(Exception):  # noqa: B017, PT011  (each provider has an error of its own)
        case.provider.refund(key, "third", 51)
    case.provider.refund(key, "fourth", 50)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"key": "key", "outcome": "succeeded"}'])
def test_unsigned_callbacks_are_refused(case: ProviderCase, body: bytes) -> None:
    with pytest.raises(BadSignature):
        case.provider.decode_callback(body, {})
