"""What a cart says, and how two tellings of one cart become one.

Each line has a version of its own. Of two tellings (Redis' and SQL's, what was known before a loss and what was written
since) the newer one counts line by line: two tabs, a write that went to SQL while Redis was away, and one that came
late do not take each other's lines. The order in which they are put together does not matter, nor how often.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

ORDER: Final = "order:"  # before the key of an order that took its lines out: the name of a line that says only that
PARKED: Final = "-"  # where a cart goes on that waits for its user's next login: nowhere yet
REMOVED: Final = 200  # lines that are remembered as removed


class Line(NamedTuple):
    """Copies of a product, since when (microseconds since 1970), and at what price they were added (cents).

    added: when the product came into the cart, in microseconds; changes of the quantity leave it as it is. 0 in lines
    that were written without it: their version says it.
    """

    quantity: int
    version: int
    price: int = 0
    added: int = 0

    @property
    def first_added(self) -> int:
        """When the product came into the cart, as far as it is known."""
        return self.added or self.version


class Content(NamedTuple):
    """A cart. lines: by product id, also those that were removed (quantity 0), for they must not come back.

    floor: what was removed up to this version is remembered no longer. moved: the digest under which it goes on, or
    PARKED, or "".
    """

    lines: Mapping[str, Line] = {}
    floor: int = 0
    moved: str = ""

    @property
    def version(self) -> int:
        """When it was last changed; 0: never."""
        return max([self.floor, *(line.version for line in self.lines.values())])

    @property
    def quantities(self) -> dict[int, int]:
        """Copies by product id, of those that are there, in the order in which they were first added."""
        there = [(line.first_added, int(name), line.quantity) for name, line in self.lines.items() if line.quantity]
        return {product: quantity for _, product, quantity in sorted(there)}


EMPTY: Final = Content()


class Change(NamedTuple):
    """A line that is to be changed. number: set to, added, or taken out (see ``changed``). price: as of now."""

    product: str
    number: int
    price: int = 0


class TooMany(ValueError):
    """A cart has room for no more. what: "lines" or "copies"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Limits(NamedTuple):
    """How many different products, and how many copies of each."""

    lines: int
    copies: int


def next_version(after: int) -> int:
    """Now, in microseconds since 1970, but later than ``after``."""
    return max(time.time_ns() // 1000, after + 1)


def changed(
    content: Content, mode: str, changes: Sequence[Change], limits: Limits, *, key: str = "", version: int = -1
) -> Content:
    """The cart after a change, as ``lua/cart_change.lua`` makes it in Redis.

    mode: "set", "add", or "take" (out; everything, if the cart's version is still ``version``). key: of the order for
    which lines are taken out, once. Raises TooMany.
    """
    if key and ORDER + key in content.lines:
        return content
    lines, whole = dict(content.lines), mode == "take" and version == content.version
    now = next_version(content.version)
    for name, number, price in changes:
        before = lines.get(name, Line(0, 0))
        quantity = {"set": number, "add": before.quantity + number, "take": max(0, before.quantity - number)}[mode]
        price_then = before.price if mode == "take" else price
        added = before.first_added if before.quantity else now
        line = Line(0 if whole else quantity, before.version, price_then, added)
        if line.quantity > before.quantity and line.quantity > limits.copies:
            raise TooMany("copies")
        if line.quantity and not before.quantity and _count(lines) >= limits.lines:
            raise TooMany("lines")
        is_changed = (line.quantity, line.price) != (before.quantity, before.price)
        if is_changed and (line.quantity or before.quantity):
            lines[name] = line._replace(version=now)
    if key:
        lines[ORDER + key] = Line(0, now)
    return pruned(Content(lines, content.floor, content.moved))


def merged(one: Content, other: Content) -> Content:
    """What both say together."""
    lines: dict[str, Line] = {}
    for name in {**one.lines, **other.lines}:
        mine, yours = one.lines.get(name), other.lines.get(name)
        if mine and yours:
            lines[name] = max(mine, yours, key=lambda line: (line.version, *line))
        elif mine and mine.version > other.floor:
            lines[name] = mine
        elif yours and yours.version > one.floor:
            lines[name] = yours
    return pruned(Content(lines, max(one.floor, other.floor), max(one.moved, other.moved)))


def pruned(content: Content) -> Content:
    """Without what was removed long ago, if there is too much of it."""
    gone = sorted((line.version, name) for name, line in content.lines.items() if not line.quantity)
    if len(gone) <= REMOVED:
        return content
    dropped = gone[: len(gone) - REMOVED // 2]
    lines = {name: line for name, line in content.lines.items() if (line.version, name) not in set(dropped)}
    return Content(lines, max(content.floor, dropped[-1][0]), content.moved)


def together(one: Content, others: Sequence[Content], limits: Limits) -> Content:
    """One cart of several: copies of one product are added up, as far as the limits allow.

    Each product keeps the time at which it was first added to any of them.
    """
    lines, now = dict(one.lines), next_version(max(content.version for content in [one, *others]))
    for other in others:
        for product, number in other.quantities.items():
            name = str(product)
            before = lines.get(name, Line(0, 0))
            if not before.quantity and _count(lines) >= limits.lines:
                continue
            quantity = max(before.quantity, min(before.quantity + number, limits.copies))
            came = other.lines[name]
            kept = before if before.quantity and before.first_added <= came.first_added else came
            price = before.price if before.quantity else came.price
            lines[name] = Line(quantity, now, price, kept.first_added)
    return pruned(Content(lines, one.floor, one.moved))


def _count(lines: Mapping[str, Line]) -> int:
    return sum(1 for line in lines.values() if line.quantity)
