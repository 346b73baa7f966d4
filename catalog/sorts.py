"""The orders in which books are shown. Other applications may add one (``register``, in ``AppConfig.ready``).

An order's *key* is what it sorts by (popularity, year, sort title; None where a book has none: those come last), and
then by id. A *position* is the key and the id of a book. Each order has a reverse, whose name begins with "-": keys and
ids go the other way, and books without a key still come last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

from django.db import connections
from django.db.models import F
from django.db.models.expressions import Combinable
from django.db.models.functions import Collate
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog import keys
from mirror.conf import setting
from mirror.entries import Scored


@dataclass(frozen=True)
class Sort:
    """One order.

    name: in addresses. label: for people. reverse_label: for people, of the reverse. place: the sorted set that has the
    books by their keys. expression: what SQL sorts by. is_text: members are "<key> NUL <id>" and sort by code point;
    others are ids, scored with their keys. mirror: which places them; another than the books' own writes to the books'
    feed (``Mirror.feed``), has the books' ids as its rows' keys, and places only the books that have a key.
    is_reversed: whether this is the reverse.
    """

    name: str
    label: str | Promise
    reverse_label: str | Promise
    place: Callable[[], str]
    expression: Callable[[], Combinable]
    is_descending: bool = False
    is_text: bool = False
    mirror: str = "book"
    is_reversed: bool = False

    @property
    def base(self) -> str:
        """The name of the order that this is the reverse of, or its own."""
        return self.name.removeprefix(REVERSE)

    def reverse(self) -> "Sort":
        """Return the same books the other way round."""
        name = self.base if self.is_reversed else REVERSE + self.name
        return replace(
            self, name=name, label=self.reverse_label, reverse_label=self.label, is_reversed=not self.is_reversed
        )

    @property
    def is_partial(self) -> bool:
        """Whether a book may have no place of its own."""
        return self.mirror != "book"

    def of(self, entry: Scored) -> tuple[int, Any]:
        """The id that an entry tells of, and its key as it compares in the process: ascending, what has none last."""
        if self.is_text:
            text, _, pk = entry.member.rpartition("\0")
            return int(pk), text
        return int(entry.member), -entry.score if self.is_descending else entry.score

    def inside(self, key: Any) -> Any:
        """A position's key as it compares in the process."""
        if self.is_text:
            return key
        if key is None:
            return inf
        return -key if self.is_descending else key

    def outside(self, key: Any) -> Any:
        """Back."""
        if key == inf:
            return None
        return -key if self.is_descending else key


def _title() -> Combinable:
    """In code point order: SQLite's own, "C" on PostgreSQL."""
    if connections[setting("DATABASE")].vendor == "postgresql":
        return Collate("sort_title", "C")
    return F("sort_title")


DEFAULT: Final = "popular"
REVERSE: Final = "-"
_sorts: Final[dict[str, Sort]] = {
    sort.name: sort
    for sort in (
        Sort(DEFAULT, _("Most read"), _("Least read first"), keys.popular, lambda: F("popularity"), is_descending=True),
        Sort("newest", _("Newest"), _("Oldest first"), keys.newest, lambda: F("year"), is_descending=True),
        Sort("rating", _("Best rated"), _("Worst rated first"), keys.ratings, lambda: F("rating"), is_descending=True),
        Sort("title", _("By title"), _("From Z to A"), keys.titles, _title, is_text=True),
    )
}


def register(sort: Sort) -> None:
    """Have an order more, after those that there are."""
    _sorts[sort.name] = sort


def every() -> Sequence[Sort]:
    """All of them, as they are offered."""
    return tuple(_sorts.values())


def get(name: str) -> Sort:
    """The order of this name; of no other: KeyError."""
    return _sorts[name[1:]].reverse() if name.startswith(REVERSE) else _sorts[name]


def known(name: str) -> Sort:
    """The order of this name, or the first."""
    return get(name) if name.removeprefix(REVERSE) in _sorts else _sorts[DEFAULT]


def others() -> dict[str, Callable[[], str]]:
    """The mirrors beside the books' own that place books, and where."""
    return {sort.mirror: sort.place for sort in _sorts.values() if sort.is_partial}
