"""A page without what is in its holes, as it is remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.conf import settings

from config import clock
from shop.pagecache.holes import Hole

STALE_SECONDS: Final = 300.0  # for which a page that is not fresh is served, while somebody makes it anew


def lifetime() -> float:
    """Return for how many seconds a page is kept."""
    return settings.SHOP_PAGE_SECONDS + STALE_SECONDS


@dataclass(frozen=True)
class Shell:
    """pieces: what is around the holes, one more than there are. fills: what a stranger sees in them; those of holes
    that are always rendered are empty. headers: of the response. made: when, in seconds since 1970.
    """

    pieces: Sequence[bytes]
    holes: Sequence[Hole]
    fills: Sequence[bytes]
    headers: Mapping[str, str]
    made: float

    @property
    def is_fresh(self) -> bool:
        """Whether it is served as it is."""
        return clock.now().timestamp() - self.made < settings.SHOP_PAGE_SECONDS

    @property
    def is_over(self) -> bool:
        """Whether it is not served any more."""
        return clock.now().timestamp() - self.made >= lifetime()

    def to_bytes(self) -> bytes:
        """For the cache server."""
        holes = [[hole.template, hole.name, sorted(hole.words)] for hole in self.holes]
        texts = [[part.decode() for part in parts] for parts in (self.pieces, self.fills)]
        return orjson.dumps([*texts, holes, self.headers, self.made])

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Shell":
        """As it was."""
        pieces, fills, holes, headers, made = orjson.loads(raw)
        return cls(
            [piece.encode() for piece in pieces],
            [Hole(template, name, frozenset(words)) for template, name, words in holes],
            [fill.encode() for fill in fills],
            headers,
            made,
        )

    def filled(self, fills: Sequence[bytes]) -> bytes:
        """The page with these in its holes."""
        parts: list[Any] = [b""] * (2 * len(self.holes) + 1)
        parts[::2], parts[1::2] = self.pieces, fills
        return b"".join(parts)
