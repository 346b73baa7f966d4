"""Write carts in SQL. Whatever happens to a session happens to its cart in the same transaction.

A cart is one row with its lines as JSON. With a row for each line, a change would write the cart's row as well, for its
version and the number of lines.
"""

from collections.abc import Collection
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.signals import post_save

from accounts.models import Session
from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict
from mirror.conf import setting
from mirror.relay import hint
from shop.carts import rules
from shop.carts.reading import CartView, make_view
from shop.mirrors.carts import CartMirror
from shop.models.cart import Cart, CartQuerySet

CONTENT_FIELDS = frozenset({"lines", "version"})
STRAY_MICROSECONDS = 3_600_000_000  # the age at which a cart without a session is a stray


class SessionGone(Exception):
    """The session of a cart has ended or has another token."""


class GatheredCopies(NamedTuple):
    """copies: the copies that came back into the cart. left_out: the copies that did not fit."""

    copies: int = 0
    left_out: int = 0


@repeat_after_conflict
def change_line(digest: str, product: int, quantity: int, price: int, *, is_more: bool = False) -> CartView:
    """Set a product's quantity in the cart of a session, or add to it with ``is_more``. Return the new cart.

    price: the current price in cents. Raises LimitExceeded and SessionGone.
    """
    while True:
        cart = _query().live().filter(pk=digest).first() or Cart(digest=digest)
        is_new = cart._state.adding
        if is_new and not quantity:
            return CartView()
        lines, seen = cart.content, cart.version
        version = rules.next_version(seen)
        copies = quantity
        if is_more and product in lines:
            copies += lines[product].quantity
        changed = rules.change_line(lines, product, copies, price, version)
        # An unchanged cart keeps its version, so that an open checkout stays valid.
        if changed == lines:
            return make_view(cart.lines, seen)
        cart.content, cart.version = changed, version
        # Others may change the cart meanwhile. Each time one of them has succeeded, so this ends.
        if _insert(cart) if is_new else _update(cart, seen):
            return make_view(cart.lines, version)


@repeat_after_conflict
def _insert(cart: Cart) -> bool:
    """Save the new cart of a live session. Return False if another tab was faster. Raises SessionGone."""
    with transaction.atomic(using=setting("DATABASE")):
        # The lock lets other tabs and the end or rotation of this session wait, which then find the new cart.
        sessions = Session.objects.using(setting("DATABASE")).select_for_update(of=("self",), no_key=True)
        users = list(sessions.filter(pk=cart.digest).values_list("user_id", flat=True))
        if not users:
            raise SessionGone(cart.digest)
        if _query().live().filter(pk=cart.digest).exists():
            return False
        cart.user_id = users[0]
        cart.save(force_insert=True)
    return True


def _update(cart: Cart, seen: int) -> bool:
    """Save a cart if nothing has changed since its version ``seen``. Return whether it was saved.

    One statement instead of a lock in a transaction, which would take three round trips more.
    """
    same = _query().live().filter(pk=cart.digest, version=seen)
    if not same.update(lines=cart.lines, version=cart.version):
        return False
    # As Model.save() would, which has no condition.
    post_save.send(
        Cart, instance=cart, created=False, raw=False, using=setting("DATABASE"), update_fields=CONTENT_FIELDS
    )
    return True


def lock_cart(digest: str) -> Cart | None:
    """Lock and return the cart of a live session, or None without one. Call it in a transaction."""
    return _query().live().select_for_update(of=("self",)).filter(pk=digest).first()


def empty(cart: Cart) -> None:
    """Take all lines out of a locked cart, because they are ordered."""
    cart.content, cart.version = rules.EMPTY, rules.next_version(cart.version)
    cart.save(update_fields=CONTENT_FIELDS)


def move(old: str, new: str, user_id: int | None) -> None:
    """Move a cart to the session's new token, in the transaction of the rotation."""
    if _query().live().filter(pk=old).update(digest=new, user_id=user_id):
        hint(CartMirror.name, "", [old, new])


@repeat_after_conflict
def gather_parked(user_id: int, digest: str) -> GatheredCopies:
    """Merge a user's parked carts into the cart of the new session. Call it in the transaction of the login."""
    # Without a savepoint: after any error the login is rolled back.
    with transaction.atomic(using=setting("DATABASE"), savepoint=False):
        # In the order of keys, so that two logins of one user cannot wait for each other in a circle.
        rows = _query().filter(Q(pk=digest) | Q(user_id=user_id, is_parked=True)).order_by("pk")
        found = {row.pk: row for row in rows.select_for_update(of=("self",))}
        own = found.pop(digest, None)
        if not found:
            if own and own.user_id != user_id:
                _query().filter(pk=digest).update(user_id=user_id)
            return GatheredCopies()
        own = own or Cart(digest=digest)
        own.user_id = user_id
        before = own.content
        own.content = rules.combine(before, [row.content for row in found.values()])
        # Above the versions of all carts: the key of an order derives from digest and version, so no version may
        # return.
        own.version = rules.next_version(max(row.version for row in (own, *found.values())))
        own.save()
        _query().filter(pk__in=found).delete()
    came = rules.count_copies(own.content) - rules.count_copies(before)
    return GatheredCopies(came, sum(rules.count_copies(row.content) for row in found.values()) - came)


def park(digests: Collection[str]) -> None:
    """Park the carts of ending sessions until their users log in again, in the transaction that ends the sessions."""
    ending = _query().live().filter(pk__in=digests)
    found = list(ending.values_list("pk", flat=True))
    if found:
        # Before the others are parked: no login could bring back the cart of an anonymous session.
        ending.filter(Q(user=None) | Q(lines={})).delete()
        ending.update(is_parked=True, ended_at=clock.now())
        hint(CartMirror.name, "", found)


@repeat_after_conflict
def park_strays() -> int:
    """Park carts whose session is gone without a signal, as after a deletion by raw SQL. Return their number."""
    since = rules.next_version(0) - STRAY_MICROSECONDS
    # A version is the time of the change in microseconds, so a cart in use is no stray.
    strays = _query().live().filter(~Exists(Session.objects.filter(pk=OuterRef("pk"))), version__lt=since)
    digests = list(strays.values_list("pk", flat=True)[:SLICE_SIZE])
    with transaction.atomic(using=setting("DATABASE")):
        park(digests)
    return len(digests)


def _query() -> CartQuerySet:
    return Cart.objects.using(setting("DATABASE"))
