"""Pages that ask for many things, one after the other: what they asked the last time is asked ahead, in one round trip.

>>> FRONT = Foreseen()
>>> with FRONT.ahead(digest):  # None: a stranger
...     return render(...)  # reads that were asked the last time cost nothing more

A guess may be wasted, and is never wrong: a ``read`` that asks for anything else asks as always.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from mirror.bounded import Bounded
from mirror.prefetch import Asked, Prefetched, fetch, known

VISITORS: Final = 1024  # of whom it is remembered what a page asked for them alone
NOTHING: Final = Asked((), ())

Plan = tuple[Asked, ...]


class Foreseen:
    """What one page is going to ask: the same for everybody, and more for some."""

    def __init__(self) -> None:
        self._strangers: Plan = ()
        self._own = Bounded[Plan](VISITORS)

    @contextmanager
    def ahead(self, visitor: str | None) -> Generator[None, None, None]:
        """Ask ahead what the block is going to ask. visitor: what they are known by; None: a stranger."""
        shared = self._strangers
        plan = _once((*shared, *((visitor and self._own.get(visitor)) or ())))
        found = (fetch(NOTHING, plan) if plan else None) or Prefetched([], [])
        with known(found):
            yield
        if found.missed:
            asked = _once(found.asked)
            if visitor is None:
                self._strangers = asked
            else:
                common = {one.key for one in shared}
                self._own.put(visitor, tuple(one for one in asked if one.key not in common))

    def forget(self) -> None:
        """Remember nothing (for tests)."""
        self._strangers = ()
        self._own.clear()


def _once(asked: Sequence[Asked]) -> Plan:
    return tuple({one.key: one for one in asked if one.is_harmless()}.values())
