"""Move carts when a token is rotated, a session ends, a user logs in or a user is erased.

SQL decides, in the transaction of the event, so a cart moves completely or not at all. The cart of a new token starts
in SQL, because no visitor can write to a token that is not known yet. Redis is updated after the commit, or later
(``shop.carts.sync``). Every update of Redis is a merge of versions, so it can be repeated safely.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db import transaction

from common import clock
from common.database import repeat_after_conflict
from mirror.backup import access
from mirror.conf import setting
from mirror.redis import breaker, try_redis
from mirror.utils import after_commit
from shop.carts import rows as sql
from shop.carts import scripts, sync
from shop.carts.content import EMPTY_CART, CartContent, combine_carts, next_version
from shop.carts.reading import get_cart_backup
from shop.carts.without_redis import get_request_state
from shop.models import Cart
from shop.services.carts import get_limits

logger = logging.getLogger("shop")


@repeat_after_conflict
def move_cart_to_new_token(old: str, new: str, user_id: int | None) -> None:
    """Move a cart to the session's new token. Does nothing when repeated."""
    content = access.fetch(get_cart_backup(), [old]).get(old, EMPTY_CART)
    with transaction.atomic(using=setting("DATABASE")):
        known = sql.lock_carts([old])
        if old in known and known[old].moved_to:
            return  # another login of the same browser has moved it
        if not content.version and not known and not breaker.open():
            return  # no cart; while Redis is away there may be one that SQL does not have yet
        rows = sql.lock_carts([], make=[old, new])
        sql.merge_into_row(rows[old], content)
        sql.merge_into_row(rows[new], rows[old].content)
        rows[new].user_id, rows[new].is_owed = user_id, True
        _mark_ended(rows[old], moved_to=new)
        sql.write_rows(rows.values())
        _push_after_commit([old, new])


class GatheredCopies(NamedTuple):
    """copies: the copies that came back into the cart. left_out: the copies that did not fit."""

    copies: int = 0
    left_out: int = 0


@repeat_after_conflict
def gather_parked_carts(user_id: int, digest: str) -> GatheredCopies:
    """Merge a user's parked carts into the cart of the new session, each of them once.

    Call it in the transaction of the login.
    """
    with transaction.atomic(using=setting("DATABASE")):
        parked = Cart.objects.using(setting("DATABASE")).parked().filter(user_id=user_id)
        waiting = list(parked.exclude(pk=digest).values_list("pk", flat=True))
        if not waiting:
            Cart.objects.using(setting("DATABASE")).filter(pk=digest).update(user_id=user_id)
            return GatheredCopies()
        rows = sql.lock_carts(waiting, make=[digest])
        own = rows.pop(digest)
        sources = [row for row in rows.values() if row.is_parked and not row.moved_to]
        before, own.user_id, own.is_owed = own.content, user_id, True
        own.content = combine_carts(before, [row.content for row in sources], get_limits())
        for row in sources:
            _mark_ended(row, moved_to=digest)
        sql.write_rows([own, *sources])
        _push_after_commit([digest, *rows])
        came = _count_copies([own.content]) - _count_copies([before])
        return GatheredCopies(came, _count_copies(row.content for row in sources) - came)


@repeat_after_conflict
def park_carts(digests: Sequence[str]) -> None:
    """Park the carts of sessions that are about to end until their users log in again. Does nothing when repeated."""
    held = _read_from_redis(digests)
    with transaction.atomic(using=setting("DATABASE")):
        known = Cart.objects.using(setting("DATABASE")).filter(pk__in=digests).values_list("pk", flat=True)
        wanted = {*(held or ()), *known}
        users = sql.get_session_users(wanted if held is not None else digests)
        if held is None:  # carts from Redis arrive later and need a row that names their user
            wanted |= {digest for digest, user in users.items() if user}
        rows = [row for row in sql.lock_carts(wanted, make=wanted).values() if not row.moved_to]
        for row in rows:
            sql.merge_into_row(row, (held or {}).get(str(row.pk), EMPTY_CART))
            row.user_id = users.get(str(row.pk)) or row.user_id
            _mark_ended(row)
        sql.write_rows(rows)
        _push_after_commit([str(row.pk) for row in rows])


@repeat_after_conflict
def erase_carts(user_id: int) -> None:
    """Erase a user's carts before the user is deleted.

    Empty rows remain for two days, so that no late write or old copy in Redis brings a cart back.
    """
    own = Cart.objects.using(setting("DATABASE")).filter(user_id=user_id).values_list("pk", flat=True)
    digests = sorted({*own, *sql.list_sessions_of_user(user_id)})
    with transaction.atomic(using=setting("DATABASE")):
        rows = sql.lock_carts([], make=digests)
        for row in rows.values():
            row.user_id = None
            row.content = CartContent(pruned_until=next_version(row.version))
            _mark_ended(row)
        sql.write_rows(rows.values())
        after_commit(_drop_from_redis, digests, using=setting("DATABASE"))


def _mark_ended(row: Cart, *, moved_to: str = "") -> None:
    """Mark a cart as parked or moved, and as pending for Redis."""
    row.is_parked, row.moved_to = not moved_to, moved_to
    row.ended_at, row.is_owed = clock.now(), True


def _count_copies(contents: Iterable[CartContent]) -> int:
    return sum(sum(content.quantities.values()) for content in contents)


def _push_after_commit(digests: Sequence[str]) -> None:
    after_commit(_push_now, digests, using=setting("DATABASE"))


def _push_now(digests: Sequence[str]) -> None:
    """Update Redis now. If it is away, the visitor's next requests read SQL as well."""
    try_redis(
        lambda redis: sync.push_pending_carts(digests, redis=redis),
        lambda: setattr(get_request_state(), "now", True),
        logger,
        "Redis did not answer, it is told of carts later: %s",
    )


def _read_from_redis(digests: Sequence[str]) -> dict[str, CartContent] | None:
    """Return Redis' content of these carts, or None while Redis is away."""
    return try_redis(
        lambda redis: dict(get_cart_backup().read(redis, digests)),
        lambda: None,
        logger,
        "Redis did not answer, carts are parked as SQL knows them: %s",
    )


def _drop_from_redis(digests: Sequence[str]) -> None:
    """Delete erased carts from Redis now. If Redis is away, the floor in SQL removes them later."""
    try_redis(
        lambda redis: scripts.drop_carts(redis, digests),
        lambda: None,
        logger,
        "Redis did not answer, it is told of erased carts later: %s",
    )
