"""The value of a cart, and the merge of two values of one cart.

Each line has its own version. When two values meet (Redis' and SQL's, or the ones before and after a loss of data), the
newer version of each line wins. So changes from two tabs, a write to SQL while Redis was away, and a late write do not
overwrite each other's lines. The merge gives the same result in any order and when it is repeated.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

ORDER_PREFIX: Final = (
    "order:"  # prefix of a line that only records that the order with this key has taken its lines out
)
PARKED: Final = "-"  # value of ``moved_to`` for a cart that waits for its user's next login
MAX_REMOVED_LINES: Final = 200  # removed lines that a cart remembers


class ContentLine(NamedTuple):
    """One product in a cart.

    quantity: copies. version: the time of the last change, in microseconds since 1970. price: the price when the
    product was added, in cents. added: the time when the product was added, in microseconds since 1970; changes of the
    quantity keep it. Lines of the old format have 0 here and use their version instead.
    """

    quantity: int
    version: int
    price: int = 0
    added: int = 0

    @property
    def first_added_at(self) -> int:
        """The time when the product was added, or the best known estimate."""
        return self.added or self.version


class CartContent(NamedTuple):
    """The value of a cart.

    lines: by product id. Removed lines stay with quantity 0, so that an older copy does not bring them back.
    pruned_until: removed lines up to this version are forgotten. moved_to: the digest of the cart that replaces this
    one, PARKED, or "".
    """

    lines: Mapping[str, ContentLine] = {}
    pruned_until: int = 0
    moved_to: str = ""

    @property
    def version(self) -> int:
        """The time of the last change, in microseconds since 1970; 0 for a cart that was never written."""
        return max([self.pruned_until, *(line.version for line in self.lines.values())])

    @property
    def quantities(self) -> dict[int, int]:
        """Copies by product id, without removed lines, in the order in which products were added."""
        there = [(line.first_added_at, int(name), line.quantity) for name, line in self.lines.items() if line.quantity]
        return {product: quantity for _, product, quantity in sorted(there)}


EMPTY_CART: Final = CartContent()


class LineChange(NamedTuple):
    """A change of one line. number: the quantity to set, add or take out (see ``changed``). price: the current price in
    cents.
    """

    product: str
    number: int
    price: int = 0


class LimitExceeded(ValueError):
    """Raised when a cart is full. what: the limit that was reached, "lines" or "copies"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class CartLimits(NamedTuple):
    """The largest number of different products, and of copies of each."""

    lines: int
    copies: int


def next_version(after: int) -> int:
    """Return the current time in microseconds since 1970, or ``after + 1`` if that is later."""
    return max(time.time_ns() // 1000, after + 1)


def apply_changes(
    content: CartContent,
    mode: str,
    changes: Sequence[LineChange],
    limits: CartLimits,
    *,
    key: str = "",
    version: int = -1,
) -> CartContent:
    """Return the cart after a change, computed as ``lua/cart_change.lua`` does in Redis.

    mode: "set", "add" or "take". "take" removes the given quantities, or all of each line if the cart still has this
    ``version``. key: the key of the order that takes lines out; each key takes effect once. Raises LimitExceeded.
    """
    if key and ORDER_PREFIX + key in content.lines:
        return content
    lines, whole = dict(content.lines), mode == "take" and version == content.version
    now = next_version(content.version)
    for name, number, price in changes:
        before = lines.get(name, ContentLine(0, 0))
        quantity = {"set": number, "add": before.quantity + number, "take": max(0, before.quantity - number)}[mode]
        price_then = before.price if mode == "take" else price
        added = before.first_added_at if before.quantity else now
        line = ContentLine(0 if whole else quantity, before.version, price_then, added)
        if line.quantity > before.quantity and line.quantity > limits.copies:
            raise LimitExceeded("copies")
        if line.quantity and not before.quantity and _count_lines(lines) >= limits.lines:
            raise LimitExceeded("lines")
        is_changed = (line.quantity, line.price) != (before.quantity, before.price)
        if is_changed and (line.quantity or before.quantity):
            lines[name] = line._replace(version=now)
    if key:
        lines[ORDER_PREFIX + key] = ContentLine(0, now)
    return prune_removed_lines(CartContent(lines, content.pruned_until, content.moved_to))


def merge_versions(one: CartContent, other: CartContent) -> CartContent:
    """Return the merge of two values of one cart."""
    lines: dict[str, ContentLine] = {}
    for name in {**one.lines, **other.lines}:
        mine, yours = one.lines.get(name), other.lines.get(name)
        if mine and yours:
            lines[name] = max(mine, yours, key=lambda line: (line.version, *line))
        elif mine and mine.version > other.pruned_until:
            lines[name] = mine
        elif yours and yours.version > one.pruned_until:
            lines[name] = yours
    return prune_removed_lines(
        CartContent(lines, max(one.pruned_until, other.pruned_until), max(one.moved_to, other.moved_to))
    )


def prune_removed_lines(content: CartContent) -> CartContent:
    """Return the cart without its oldest removed lines, if there are more than REMOVED of them."""
    gone = sorted((line.version, name) for name, line in content.lines.items() if not line.quantity)
    if len(gone) <= MAX_REMOVED_LINES:
        return content
    dropped = gone[: len(gone) - MAX_REMOVED_LINES // 2]
    lines = {name: line for name, line in content.lines.items() if (line.version, name) not in set(dropped)}
    return CartContent(lines, max(content.pruned_until, dropped[-1][0]), content.moved_to)


def combine_carts(one: CartContent, others: Sequence[CartContent], limits: CartLimits) -> CartContent:
    """Return one cart that holds the copies of several carts, as far as the limits allow.

    Each product keeps the earliest time at which it was added to any of them.
    """
    lines, now = dict(one.lines), next_version(max(content.version for content in [one, *others]))
    for other in others:
        for product, number in other.quantities.items():
            name = str(product)
            before = lines.get(name, ContentLine(0, 0))
            if not before.quantity and _count_lines(lines) >= limits.lines:
                continue
            quantity = max(before.quantity, min(before.quantity + number, limits.copies))
            came = other.lines[name]
            kept = before if before.quantity and before.first_added_at <= came.first_added_at else came
            price = before.price if before.quantity else came.price
            lines[name] = ContentLine(quantity, now, price, kept.first_added_at)
    return prune_removed_lines(CartContent(lines, one.pruned_until, one.moved_to))


def _count_lines(lines: Mapping[str, ContentLine]) -> int:
    return sum(1 for line in lines.values() if line.quantity)
