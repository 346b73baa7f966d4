"""The stored form of a page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import orjson
from django.conf import settings
from django.core.signing import Signer

from common import clock
from mirror.read import PastReads

STALE_SECONDS: Final = 300.0  # how long a page that is too old is served while one process renders it again
STALE_SHARE: Final = 1.0  # the same for a page with a shorter life, as a part of that life


def get_lifetime_seconds() -> float:
    """Return for how many seconds a page is kept."""
    return settings.SHOP_PAGE_SECONDS + STALE_SECONDS


def _make_signer(digest: str) -> Signer:
    return Signer(salt=f"shop.pagecache:{digest}")


@dataclass(frozen=True)
class StoredPage:
    """A page as a visitor without a session sees it.

    pieces: the text around the places of the visitor's CSRF token. has_token: the response sets the cookie of the
    token. headers: of the response. reads: what the page was made of. life: for how many seconds it may be served,
    or None for the usual time. rendered_at: the time of rendering, in seconds since 1970.
    """

    pieces: Sequence[bytes]
    has_token: bool
    headers: Mapping[str, str]
    reads: PastReads
    life: float | None
    rendered_at: float

    @property
    def is_fresh(self) -> bool:
        """Whether the page is young enough to be served."""
        return self._age < (settings.SHOP_PAGE_SECONDS if self.life is None else self.life)

    @property
    def is_expired(self) -> bool:
        """Whether the page is too old to be served even while it is rendered again."""
        return self._age >= (get_lifetime_seconds() if self.life is None else self.life * (1 + STALE_SHARE))

    @property
    def is_constant(self) -> bool:
        """Whether the page was made of nothing that Redis has."""
        return not self.reads.asked.commands

    @property
    def _age(self) -> float:
        return clock.now().timestamp() - self.rendered_at

    @cached_property
    def tag(self) -> str:
        """A digest of the page without tokens, for ``ETag``."""
        digest = hashlib.blake2b(digest_size=12)
        for piece in self.pieces:
            digest.update(piece)
        return digest.hexdigest()

    def to_bytes(self, digest: str) -> bytes:
        """Encode the page for the cache server, signed for its key, so that no other program can forge a page."""
        pieces = [piece.decode() for piece in self.pieces]
        fields = [pieces, self.has_token, self.headers, self.reads.to_json(), self.life, self.rendered_at]
        return _make_signer(digest).sign(orjson.dumps(fields).decode()).encode()

    @classmethod
    def from_bytes(cls, digest: str, raw: bytes) -> "StoredPage":
        """Decode a page from the cache server. Raises BadSignature if it is not a page of this key."""
        fields = orjson.loads(_make_signer(digest).unsign(raw.decode()))
        pieces, has_token, headers, reads, life, rendered_at = fields
        encoded = [piece.encode() for piece in pieces]
        return cls(encoded, has_token, headers, PastReads.from_json(reads), life, rendered_at)
