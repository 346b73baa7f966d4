"""The payment provider: who takes the money. Which one: ``settings.PAYMENT_PROVIDER``.

Ask it only through ``shop.payments.calls``, which bounds how long it may take.
"""

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, Protocol

from django.conf import settings
from django.utils.functional import Promise
from django.utils.module_loading import import_string


class Outcome(Enum):
    """What became of a charge. PENDING: the provider is still at it."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Answer(NamedTuple):
    """What the provider says of a charge. reference: its own number for it. reason: why it was refused."""

    outcome: Outcome
    reference: str = ""
    reason: str = ""


class Card:
    """A card as it was typed: handed on to the provider and kept nowhere. Never shows its number."""

    __slots__ = ("number",)

    def __init__(self, number: str) -> None:
        self.number = "".join(number.split())

    def __repr__(self) -> str:
        return "Card(...)"


class TestCard(NamedTuple):
    """A number that makes a provider's test system do something in particular."""

    number: str
    does: str | Promise


class NoAnswer(Exception):
    """The provider did not answer, or not in time: what became of the charge has to be found out."""


class BadSignature(Exception):
    """A callback that the provider did not send."""


class Provider(Protocol):
    """A payment provider. ``key``: the payment's own; the same key again is the same charge.

    Each may raise whatever its network raises, and take as long as it likes.
    """

    test_cards: tuple[TestCard, ...]

    def charge(self, key: str, amount: int, card: Card) -> Answer:
        """Take ``amount`` cents from the card, once for a key."""

    def find(self, key: str) -> Answer | None:
        """What became of it; None: it has never heard of this key."""

    def give_up(self, key: str) -> Answer:
        """Never charge under this key, if it has not been done. What became of it: FAILED, unless it was too late."""

    def refund(self, key: str) -> None:
        """Give the money of a charge back, once."""

    def hear(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, Answer]:
        """Read a callback: the key, and the answer. Raises BadSignature."""


@lru_cache(maxsize=8)
def _load(path: str) -> Provider:
    made: Provider = import_string(path)()
    return made


def provider() -> Provider:
    """The provider of this shop."""
    return _load(settings.PAYMENT_PROVIDER)
