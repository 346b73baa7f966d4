"""The interface of payment providers. ``settings.PAYMENT_PROVIDER`` names the class in use.

Call the provider only through ``shop.payments.calls``, which bounds the time of each call. A new provider implements
``Provider``, as ``fake.py`` does, and gets a fixture in ``tests/shop/test_provider.py``. Nothing else in the
shop depends on the provider; ``fake_callbacks.py`` belongs to the fake one.
"""

import re
import secrets
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, NoReturn, Protocol

from django.conf import settings
from django.utils.functional import Promise
from django.utils.module_loading import import_string


class Outcome(Enum):
    """The outcome of a charge. PENDING: the provider has not decided yet."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Answer(NamedTuple):
    """The provider's report on a charge. reference: the provider's own number. reason: why the charge was refused.

    page: the address at which the buyer pays, while that is PENDING on the provider's own page.
    """

    outcome: Outcome
    reference: str = ""
    reason: str = ""
    page: str = ""


class Expiry(NamedTuple):
    """The month (1 to 12) and the year in which a card expires."""

    month: int
    year: int


class TypedCard:
    """A typed card. It is passed to the provider, never stored, and hidden in ``repr``."""

    __slots__ = ("code", "expiry", "number")

    def __init__(self, number: str, expiry: Expiry | None = None, code: str = "") -> None:
        self.number, self.expiry, self.code = "".join(number.split()), expiry, code

    def __repr__(self) -> str:
        return "TypedCard(...)"

    def __reduce__(self) -> NoReturn:
        # No session, cache or queue can store it by mistake.
        raise TypeError("A card is never stored.")


class PageRequest(NamedTuple):
    """What the provider's own page needs for an order. return_address: where it sends the buyer, paid or not."""

    order_id: int
    email: str
    return_address: str


Means = TypedCard | PageRequest


class ProviderPage(NamedTuple):
    """The page of a provider that takes cards itself. origin: the buyer's browser is sent there ("https://host")."""

    name: str
    origin: str


class TestCard(NamedTuple):
    """A card number with a special effect in the provider's test system."""

    number: str
    effect: str | Promise

    @property
    def shown_number(self) -> str:
        """The number in groups of four, as on a card."""
        return " ".join(textwrap.wrap(self.number, 4))


class NoAnswer(Exception):
    """The provider did not answer in time. The outcome of the charge is unknown."""


class BadSignature(Exception):
    """The callback was not sent by the provider."""


class Provider(Protocol):
    """A payment provider. ``key`` identifies a charge: repeated calls with one key are about one charge.

    Each method may raise any error and take any time: the outcome is then unknown, and ``find`` is called later.
    Several threads use one object. Amounts are in cents of ``SHOP_CURRENCY``. The shop shows ``reason`` to the reader
    as it is. Callbacks arrive at the address of the view ``shop:callback``.
    """

    test_cards: tuple[TestCard, ...]  # shown beside the form; empty in production

    @property
    def page(self) -> ProviderPage | None:
        """The provider's own page, where the buyer pays; None if the shop's form takes the card."""

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        """Take ``amount`` cents from the card, once per key. With an own page: open it, and return its address."""

    def find(self, key: str) -> Answer | None:
        """Return the outcome of a charge, or None if the provider does not know the key."""

    def give_up(self, key: str) -> Answer:
        """Forbid any later charge under this key, and close its page. Return FAILED, or the outcome if the charge was
        made before.
        """

    def refund(self, key: str, refund: str, amount: int) -> None:
        """Refund part of a charge, once per ``refund`` key."""

    def decode_callback(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, Answer] | None:
        """Decode a callback into the key and the answer, or None if it concerns no charge. Raises BadSignature."""


def make_key(now: datetime) -> str:
    """Return the key of an attempt at this time: a provider may list its charges by time alone."""
    return f"{int(now.timestamp()):08x}{secrets.token_hex(28)}"


def is_key(text: str) -> bool:
    """Return whether a text has the form of a key."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def read_key_time(key: str) -> datetime:
    """Return the time of an attempt, in whole seconds."""
    return datetime.fromtimestamp(int(key[:8], 16), UTC)


@lru_cache(maxsize=8)
def _load_provider(path: str) -> Provider:
    made: Provider = import_string(path)()
    return made


def get_provider() -> Provider:
    """Return the provider in use."""
    return _load_provider(settings.PAYMENT_PROVIDER)
