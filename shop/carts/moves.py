"""Move carts when a token is rotated, a session ends, a user logs in or a user is erased.

SQL decides, in the transaction of the event, so a cart moves completely or not at all. The cart of a new token starts
in SQL, because no visitor can write to a token that is not known yet. Redis is updated after the commit, or later
(``shop.carts.settling``). Every update of Redis is a merge of versions, so it can be repeated safely.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db import transaction

from config import clock
from mirror.backup import access
from mirror.commit import after_commit
from mirror.conf import setting
from mirror.redis import RedisError, breaker, client, is_away
from shop.carts import scripts, settling, sql
from shop.carts.cart import backup
from shop.carts.content import EMPTY, Content, next_version, together
from shop.carts.direct import behind
from shop.models import Cart
from shop.services.carts import limits

logger = logging.getLogger("shop")


def rotate(old: str, new: str, user_id: int | None) -> None:
    """Move a cart to the session's new token. Does nothing when repeated."""
    content = access.fetch(backup(), [old]).get(old, EMPTY)
    with transaction.atomic(using=setting("DATABASE")):
        known = sql.locked([old])
        if old in known and known[old].moved_to:
            return  # another login of the same browser has moved it
        if not content.version and not known and not breaker.open():
            return  # no cart; while Redis is away there may be one that SQL does not have yet
        rows = sql.locked([], make=[old, new])
        sql.take(rows[old], content)
        sql.take(rows[new], rows[old].content)
        rows[new].user_id, rows[new].is_owed = user_id, True
        _over(rows[old], goes_on_as=new)
        sql.write(rows.values())
        _tell_redis([old, new])


class Gathered(NamedTuple):
    """copies: the copies that came back into the cart. left_out: the copies that did not fit."""

    copies: int = 0
    left_out: int = 0


def gather(user_id: int, digest: str) -> Gathered:
    """Merge a user's parked carts into the cart of the new session, each of them once.

    Call it in the transaction of the login.
    """
    with transaction.atomic(using=setting("DATABASE")):
        parked = Cart.objects.using(setting("DATABASE")).parked().filter(user_id=user_id)
        waiting = list(parked.exclude(pk=digest).values_list("pk", flat=True))
        if not waiting:
            Cart.objects.using(setting("DATABASE")).filter(pk=digest).update(user_id=user_id)
            return Gathered()
        rows = sql.locked(waiting, make=[digest])
        own = rows.pop(digest)
        sources = [row for row in rows.values() if row.is_parked and not row.moved_to]
        before, own.user_id, own.is_owed = own.content, user_id, True
        own.content = together(before, [row.content for row in sources], limits())
        for row in sources:
            _over(row, goes_on_as=digest)
        sql.write([own, *sources])
        _tell_redis([digest, *rows])
        came = _copies([own.content]) - _copies([before])
        return Gathered(came, _copies(row.content for row in sources) - came)


def park(digests: Sequence[str]) -> None:
    """Park the carts of sessions that are about to end until their users log in again. Does nothing when repeated."""
    held = _held(digests)
    with transaction.atomic(using=setting("DATABASE")):
        known = Cart.objects.using(setting("DATABASE")).filter(pk__in=digests).values_list("pk", flat=True)
        wanted = {*(held or ()), *known}
        users = sql.sessions_of(wanted if held is not None else digests)
        if held is None:  # carts from Redis arrive later and need a row that names their user
            wanted |= {digest for digest, user in users.items() if user}
        rows = [row for row in sql.locked(wanted, make=wanted).values() if not row.moved_to]
        for row in rows:
            sql.take(row, (held or {}).get(str(row.pk), EMPTY))
            row.user_id = users.get(str(row.pk)) or row.user_id
            _over(row)
        sql.write(rows)
        _tell_redis([str(row.pk) for row in rows])


def erase(user_id: int) -> None:
    """Erase a user's carts before the user is deleted.

    Empty rows remain for two days, so that no late write or old copy in Redis brings a cart back.
    """
    own = Cart.objects.using(setting("DATABASE")).filter(user_id=user_id).values_list("pk", flat=True)
    digests = sorted({*own, *sql.sessions_of_user(user_id)})
    with transaction.atomic(using=setting("DATABASE")):
        rows = sql.locked([], make=digests)
        for row in rows.values():
            row.user_id = None
            row.content = Content(floor=next_version(row.version))
            _over(row)
        sql.write(rows.values())
        after_commit(_forget, digests, using=setting("DATABASE"))


def _over(row: Cart, *, goes_on_as: str = "") -> None:
    """Mark a cart as parked or moved, and as pending for Redis."""
    row.is_parked, row.moved_to = not goes_on_as, goes_on_as
    row.ended_at, row.is_owed = clock.now(), True


def _copies(contents: Iterable[Content]) -> int:
    return sum(sum(content.quantities.values()) for content in contents)


def _tell_redis(digests: Sequence[str]) -> None:
    after_commit(_settle, digests, using=setting("DATABASE"))


def _settle(digests: Sequence[str]) -> None:
    """Update Redis now. If it is away, the visitor's next requests read SQL as well."""
    try:
        if breaker.open():
            behind().now = True
        else:
            settling.settle(digests, redis=client())
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        behind().now = True
        logger.warning("Redis did not answer, it is told of carts later: %s", error)


def _held(digests: Sequence[str]) -> dict[str, Content] | None:
    """Return Redis' content of these carts, or None while Redis is away."""
    if breaker.open():
        return None
    try:
        return dict(backup().read(client(), digests))
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        logger.warning("Redis did not answer, carts are parked as SQL knows them: %s", error)
        return None


def _forget(digests: Sequence[str]) -> None:
    """Delete erased carts from Redis now. If Redis is away, the floor in SQL removes them later."""
    if breaker.open():
        return
    try:
        scripts.drop(client(), digests)
    except RedisError as error:
        logger.warning("Redis did not answer, it is told of erased carts later: %s", error)
