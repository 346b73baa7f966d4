"""The cached form of a page: the page without its fragments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.conf import settings
from django.core.signing import Signer

from common import clock
from shop.pagecache.fragments import Fragment

STALE_SECONDS: Final = 300.0  # how long a stale page is served while one process renders it anew


def get_lifetime_seconds() -> float:
    """Return for how many seconds a page is kept."""
    return settings.SHOP_PAGE_SECONDS + STALE_SECONDS


def _make_signer(digest: str) -> Signer:
    return Signer(salt=f"shop.pagecache:{digest}")


@dataclass(frozen=True)
class StoredPage:
    """A page without its fragments.

    pieces: the text around the fragments, one more than there are fragments. fills: the fragments of an anonymous
    visitor, empty for those that are always rendered. headers: of the response. rendered_at: the time of rendering, in
    seconds since 1970.
    """

    pieces: Sequence[bytes]
    placeholders: Sequence[Fragment]
    fills: Sequence[bytes]
    headers: Mapping[str, str]
    rendered_at: float

    @property
    def is_fresh(self) -> bool:
        """Whether the page can be served without being rendered anew."""
        return clock.now().timestamp() - self.rendered_at < settings.SHOP_PAGE_SECONDS

    @property
    def is_expired(self) -> bool:
        """Whether the page is too old to be served."""
        return clock.now().timestamp() - self.rendered_at >= get_lifetime_seconds()

    def to_bytes(self, digest: str) -> bytes:
        """Encode the page for the cache server, signed for its key, so that no other program can forge a page."""
        placeholders = [
            [placeholder.template, placeholder.name, sorted(placeholder.words)] for placeholder in self.placeholders
        ]
        texts = [[part.decode() for part in parts] for parts in (self.pieces, self.fills)]
        text = orjson.dumps([*texts, placeholders, self.headers, self.rendered_at]).decode()
        return _make_signer(digest).sign(text).encode()

    @classmethod
    def from_bytes(cls, digest: str, raw: bytes) -> "StoredPage":
        """Decode a page from the cache server. Raises BadSignature if it is not a page of this key."""
        pieces, fills, placeholders, headers, made = orjson.loads(_make_signer(digest).unsign(raw.decode()))
        return cls(
            [piece.encode() for piece in pieces],
            [Fragment(template, name, frozenset(words)) for template, name, words in placeholders],
            [fill.encode() for fill in fills],
            headers,
            made,
        )

    def filled(self, fills: Sequence[bytes]) -> bytes:
        """Return the page with these fragments."""
        # Interleaved by slices: a page has dozens of pieces, and this runs for every request.
        parts: list[Any] = [b""] * (2 * len(self.placeholders) + 1)
        parts[::2], parts[1::2] = self.pieces, fills
        return b"".join(parts)
