"""Carts: Redis knows first, SQL within two seconds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mirror import scan
from mirror.backup import Backup, register
from mirror.conf import setting
from mirror.session import Session
from shop import cart_rows, cart_scripts, keys
from shop.cart_content import Content
from shop.models import Cart

STEP: Final = 500  # carts in a round trip


@register
class CartBackup(Backup):
    """Items are digests of sessions' tokens; values say of each line since when it is so (``shop.cart_content``).

    An emptied cart stays, empty: what an older file says of it is older. Redis need not have a cart that nobody looks
    at: it is put back when it is asked for.
    """

    name = "cart"
    every_seconds = 1.0

    def ask(self, pipe: Any, items: Sequence[str]) -> None:
        for digest in items:
            pipe.hgetall(keys.cart_state(digest))

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, Content]:
        pairs = zip(items, replies, strict=True)
        return {digest: cart_scripts.content_of(state) for digest, state in pairs if state}

    def save(self, values: Mapping[str, Content | None]) -> None:
        """What is gone from Redis says nothing: a cart that was emptied is there, empty."""
        cart_rows.save({digest: content for digest, content in values.items() if content is not None})

    def load(self, items: Sequence[str]) -> Mapping[str, Content]:
        return cart_rows.contents(items)

    def put_back(self, redis: Any, values: Mapping[str, Content]) -> None:
        cart_scripts.put_back.load(redis)
        found = list(values.items())
        for start in range(0, len(found), STEP):
            pipe = redis.pipeline(transaction=False)
            for digest, content in found[start : start + STEP]:
                life = cart_scripts.MOVED_SECONDS if content.moved else 0
                arguments = cart_scripts.putting_back(content, life)
                cart_scripts.put_back.add(pipe, cart_scripts.both(digest), arguments)
            pipe.execute()

    def items_after(self, after: str | None, limit: int) -> list[str]:
        rows = Cart.objects.using(setting("DATABASE")).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=after)
        return list(rows.values_list("pk", flat=True)[:limit])

    def scan(self, redis: Any) -> Iterator[list[str]]:
        """Those in which something is, or was: that a session has none is remembered as well."""
        start, _, end = keys.cart_state("\0").partition("\0")
        with Session(redis) as session:
            for found in scan.keys(session):
                names = [key for key in found if key.startswith(start) and key.endswith(end)]
                said = session.ask([("HGET", name, "version") for name in names]) if names else []
                pairs = zip(names, said, strict=True)
                yield [name[len(start) : -len(end)] for name, version in pairs if version not in (None, b"0")]

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        """Those of sessions that are no more."""
        alive = cart_rows.sessions_of(items)
        return [digest for digest in items if digest not in alive]

    def drop(self, redis: Any, items: Sequence[str]) -> None:
        for digest in items:
            cart_scripts.forget(redis, [*cart_scripts.both(digest), self.marks()], [digest, ""])
