"""Carts in SQL. Writes are merged with the stored rows, line by line."""

from collections.abc import Iterable, Mapping, Sequence

from accounts.models import Session
from common import clock
from mirror.conf import setting
from shop.carts.content import CartContent, merge_versions
from shop.models import Cart

_FIELDS = ["user", "lines", "versions", "version", "is_parked", "moved_to", "ended_at", "is_owed"]


def load_contents(digests: Sequence[str]) -> dict[str, CartContent]:
    """Return the stored carts by digest, without those that SQL does not have. One query."""
    return {row.pk: row.content for row in Cart.objects.using(setting("DATABASE")).filter(pk__in=digests)}


def lock_carts(digests: Iterable[str], *, make: Iterable[str] = ()) -> dict[str, Cart]:
    """Lock the rows of these carts, always in the order of their digests, and return them by digest.

    make: create the rows of these digests if they are missing. Call it in a transaction.
    """
    rows, made = Cart.objects.using(setting("DATABASE")), set(make)
    if made:
        there = set(rows.filter(pk__in=made).values_list("pk", flat=True))
        rows.bulk_create([Cart(pk=digest) for digest in sorted(made - there)], ignore_conflicts=True)
    return {row.pk: row for row in rows.select_for_update(of=("self",)).filter(pk__in={*digests, *made}).order_by("pk")}


def write_rows(rows: Iterable[Cart]) -> None:
    """Write new or locked rows in one statement."""
    ordered = sorted(rows, key=lambda row: str(row.pk))
    if ordered:
        Cart.objects.using(setting("DATABASE")).bulk_create(
            ordered, update_conflicts=True, unique_fields=["digest"], update_fields=_FIELDS
        )


def save_contents(values: Mapping[str, CartContent]) -> None:
    """Merge carts from Redis into SQL. Call it in a transaction; it takes five statements.

    A cart belongs to the user of its session. If SQL does not know the session, an existing cart stays as it is and a
    new one is parked without a user. Writes to a cart that has moved are passed on to the new cart.
    """
    sessions, now = get_session_users(values), clock.now()
    rows = lock_carts({*values, *_follow_moves(values)}, make=values)
    changed: dict[str, Cart] = {}
    for digest, row in rows.items():
        if digest not in values:
            continue
        if digest in sessions:
            row.user_id = sessions[digest] or row.user_id
        elif not row.version and not row.ended_at:
            row.is_parked, row.ended_at = True, now
        row.is_owed |= row.is_parked  # Redis must delete it
        merge_into_row(row, values[digest])
        changed[digest] = row
    write_rows([*changed.values(), *_pass_on_late_writes(changed, rows)])


def merge_into_row(row: Cart, content: CartContent) -> bool:
    """Merge ``content`` into a row. Return whether that changed the row."""
    before = row.content
    row.content = merge_versions(before, content._replace(moved_to=""))
    return row.content != before


def _follow_moves(digests: Iterable[str]) -> set[str]:
    """Return the digests that these carts have moved to, directly or over several moves."""
    rows, found, last = Cart.objects.using(setting("DATABASE")), set[str](), set(digests)
    while last:
        last = set(rows.filter(pk__in=last).exclude(moved_to="").values_list("moved_to", flat=True)) - found
        found |= last
    return found


def _pass_on_late_writes(changed: Mapping[str, Cart], rows: Mapping[str, Cart]) -> list[Cart]:
    """Pass late writes on to the carts that these have moved to. Return the changed rows, now pending for Redis."""
    found, waiting = dict[str, Cart](), list(changed.values())
    while waiting:
        row = waiting.pop()
        target = rows.get(row.moved_to)
        if target and merge_into_row(target, row.content):
            found[str(target.pk)], target.is_owed = target, True
            waiting.append(target)
    return [row for digest, row in found.items() if digest not in changed]


def get_session_users(digests: Iterable[str]) -> dict[str, int | None]:
    """Return the user ids of those digests that have a session; None is a session without a user."""
    rows = Session.objects.using(setting("DATABASE")).filter(pk__in=list(digests))
    return dict(rows.values_list("pk", "user_id"))


def list_sessions_of_user(user_id: int) -> list[str]:
    """Return the digests of a user's sessions."""
    return list(Session.objects.using(setting("DATABASE")).filter(user_id=user_id).values_list("pk", flat=True))
