"""Prefetching for pages: the reads of the previous request are sent ahead, in one round trip.

>>> FRONT = Foreseen()
>>> with FRONT.ahead(digest):  # None: an anonymous visitor
...     return render(...)  # reads that the previous request sent cost nothing more

A wrong guess costs time and is otherwise harmless: a ``read`` of anything else is sent as usual.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from mirror.read.prefetch import NOTHING, Asked, Prefetched, fetch, known, select_guesses
from mirror.utils.bounded import Bounded

VISITORS: Final = 1024  # maximum number of visitors with remembered reads

Plan = tuple[Asked, ...]


class Foreseen:
    """The reads of one page: those that all visitors share, and those of single visitors."""

    def __init__(self) -> None:
        self._strangers: Plan = ()
        self._own = Bounded[str, Plan](VISITORS)

    @contextmanager
    def ahead(self, visitor: str | None) -> Generator[None, None, None]:
        """Prefetch the expected reads of the block. visitor: an identifier, or None for an anonymous visitor."""
        shared = self._strangers
        own = None if visitor is None else self._own.get(visitor)
        plan = select_guesses(shared + (own or ()))
        found = fetch(NOTHING, plan) if plan else None
        if found is None:
            found = Prefetched([], [])  # which records the reads of the block as well
        with known(found):
            yield
        if found.missed:
            self._remember(visitor, select_guesses(found.asked), shared)

    def _remember(self, visitor: str | None, asked: Plan, shared: Plan) -> None:
        """Keep the reads of a request for the next one; of a known visitor, only those that are not shared."""
        if visitor is None:
            self._strangers = asked
            return
        # Shared reads are kept once, not for each visitor.
        common = {one.key for one in shared}
        own = tuple(one for one in asked if one.key not in common)
        self._own.put(visitor, own)

    def forget(self) -> None:
        """Forget all reads (for tests)."""
        self._strangers = ()
        self._own.clear()
