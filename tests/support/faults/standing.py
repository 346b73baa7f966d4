"""Work that pauses at a given call, so that a test can kill it there at any speed of the machine.

With ``STANDS_STILL="mirror.outbox.chains.mark 3"`` in the environment of a child, each of its processes calls that
function twice, prints a message before the third call, and then pauses for ever.
"""

import os
import pkgutil
import signal
from collections.abc import Callable
from itertools import count
from typing import Any

SAYS = "stands still"


def install() -> None:
    """Wrap the function named by the environment, if any."""
    where, _, number = os.environ.get("STANDS_STILL", "").partition(" ")
    if not where:
        return
    module, _, name = where.rpartition(".")
    found = pkgutil.resolve_name(module)  # a module, or a class for a method
    setattr(found, name, _until(int(number), getattr(found, name)))


def _until(number: int, function: Callable[..., Any]) -> Callable[..., Any]:
    calls = count(1)

    def call_or_stand(*args: Any, **options: Any) -> Any:
        if next(calls) >= number:
            os.write(2, f"{SAYS}\n".encode())
            while True:
                signal.pause()
        return function(*args, **options)

    return call_or_stand
