"""The backup of carts: written to Redis first, and to SQL within two seconds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from mirror.backup import Backup, register, scan_keys
from mirror.conf import setting
from mirror.redis import RedisClient, RedisPipeline, Session
from shop import keys
from shop.carts import rows as sql
from shop.carts import scripts
from shop.carts.content import CartContent
from shop.models import Cart


@register
class CartBackup(Backup):
    """Items are digests of session tokens; values are carts with a version for each line (``shop.carts.content``).

    An emptied cart stays as an empty row, because a copy in an older Redis file must be recognised as older. Redis has
    every cart of a live session, so a missing key proves an empty cart. Of other carts it has only late writes, until
    SQL has them too.
    """

    name = scripts.BACKUP
    label = _("carts")
    every_seconds = 1.0
    whole = True

    def key_of(self, item: str) -> str:
        return keys.cart_state(item)

    def ask(self, pipe: RedisPipeline, items: Sequence[str]) -> None:
        for digest in items:
            pipe.hgetall(keys.cart_state(digest))

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, CartContent]:
        pairs = zip(items, replies, strict=True)
        return {digest: scripts.decode_content(state) for digest, state in pairs if state}

    def save(self, values: Mapping[str, CartContent | None]) -> None:
        """Save carts. Keys that are missing in Redis are skipped: an emptied cart still has a value."""
        sql.save_contents({digest: content for digest, content in values.items() if content is not None})

    def load(self, items: Sequence[str]) -> Mapping[str, CartContent]:
        return sql.load_contents(items)

    def put_back(self, redis: RedisClient, values: Mapping[str, CartContent]) -> None:
        scripts.push_carts(redis, values)

    def items_after(self, after: str | None, limit: int) -> list[str]:
        return self._after(Cart.objects.live(), after, limit)

    def items_lost(self, after: str | None, limit: int) -> list[str]:
        """Include ended carts, because an older Redis file may hold them as they were and must be corrected."""
        return self._after(Cart.objects.all(), after, limit)

    def _after(self, rows: QuerySet[Cart], after: str | None, limit: int) -> list[str]:
        rows = rows.using(setting("DATABASE")).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=after)
        return list(rows.values_list("pk", flat=True)[:limit])

    def scan(self, redis: RedisClient) -> Iterator[list[str]]:
        start, _, end = keys.cart_state("\0").partition("\0")
        with Session(redis) as session:
            for found in scan_keys(session):
                names = [key for key in found if key.startswith(start) and key.endswith(end)]
                yield [name[len(start) : -len(end)] for name in names]

    def is_stray(self, items: Sequence[str]) -> Sequence[str]:
        """Return the digests of ended sessions."""
        alive = sql.get_session_users(items)
        return [digest for digest in items if digest not in alive]

    def drop(self, redis: RedisClient, items: Sequence[str]) -> None:
        scripts.drop_carts(redis, items)
