"""Payment providers that kill the web process that asks them, once: at the worst moments."""

import os
import signal
from pathlib import Path

from shop.payments import Answer, Card
from shop.payments.fake import FakeProvider


def _die_once() -> None:
    """Kill this process, unless one was killed before. The file is named by the test."""
    try:
        Path(os.environ["DEADLY_FILE"]).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class AfterTheCharge(FakeProvider):
    """The money is taken, and nobody is there to hear it."""

    def charge(self, key: str, amount: int, card: Card) -> Answer:
        answer = super().charge(key, amount, card)
        _die_once()
        return answer


class BeforeTheCharge(FakeProvider):
    """It was about to be asked."""

    def charge(self, key: str, amount: int, card: Card) -> Answer:
        _die_once()
        return super().charge(key, amount, card)
