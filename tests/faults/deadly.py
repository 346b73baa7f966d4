"""Payment providers that kill the calling web process once, just before or just after the charge."""

import os
import signal
from pathlib import Path

from shop.payments import Answer, Means
from shop.payments.fake import FakeProvider


def _die_once() -> None:
    """Kill this process, unless a process was killed before. The test names the file that records it."""
    try:
        Path(os.environ["DEADLY_FILE"]).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class AfterTheCharge(FakeProvider):
    """Kill the process after the charge, before it sees the answer."""

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        answer = super().charge(key, amount, means)
        _die_once()
        return answer


class BeforeTheCharge(FakeProvider):
    """Kill the process just before the charge."""

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        _die_once()
        return super().charge(key, amount, means)
