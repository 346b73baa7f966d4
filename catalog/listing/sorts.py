"""The orders of lists of books. Other applications may register more in ``AppConfig.ready``.

An order sorts books by a *key* (popularity, year, sort title) and then by id. Books without a key (None) come last. A
*position* is the key and the id of a book. Each order has a reverse with a name that begins with "-". The reverse
inverts keys and ids, but books without a key still come last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

from django.db.models import F
from django.db.models.expressions import Combinable
from django.db.models.functions import Collate
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog import keys
from mirror import Scored
from mirror.utils import arrays


@dataclass(frozen=True)
class Sort:
    """An order of books.

    name: in addresses. label, reverse_label: the labels of the order and of its reverse. place: returns the key of the
    sorted set of the books. expression: returns the SQL expression to sort by. is_text: the members are
    "<key> NUL <id>", sorted by code point; otherwise the members are ids, scored with their keys. mirror: the mirror
    that writes the sorted set. A mirror other than the books' own must write to the books' feed (``Mirror.feed``), use
    the books' ids as keys of its rows, and write only books that have a key. has_gaps: whether books may lack a key.
    is_reverse_listed: whether wide pages always name the reverse, too. is_reversed: whether this is a reverse.
    """

    name: str
    label: str | Promise
    reverse_label: str | Promise
    place: Callable[[], str]
    expression: Callable[[], Combinable]
    is_descending: bool = False
    is_text: bool = False
    mirror: str = "book"
    has_gaps: bool = False
    is_reverse_listed: bool = False
    is_reversed: bool = False

    @property
    def base_name(self) -> str:
        """The name of the order without the prefix of a reverse."""
        return self.name.removeprefix(REVERSE_PREFIX)

    def reverse(self) -> "Sort":
        """Return the reverse of this order."""
        name = self.base_name if self.is_reversed else REVERSE_PREFIX + self.name
        return replace(
            self, name=name, label=self.reverse_label, reverse_label=self.label, is_reversed=not self.is_reversed
        )

    @property
    def is_partial(self) -> bool:
        """Whether the sorted set may lack books."""
        return self.mirror != "book"

    def of(self, entry: Scored) -> tuple[int, Any]:
        """Return the book id of an entry, and its key in the form in which the copy compares keys: ascending."""
        if self.is_text:
            text, _, pk = entry.member.rpartition("\0")
            return int(pk), text
        # Negative, because the copy compares keys in ascending order only.
        return int(entry.member), -entry.score if self.is_descending else entry.score

    def to_comparable_key(self, key: Any) -> Any:
        """Return the key of a position in the form in which the copy compares keys; a missing key becomes infinite."""
        if self.is_text:
            return key
        if key is None:
            return inf
        return -key if self.is_descending else key

    def from_comparable_key(self, key: Any) -> Any:
        """Return the key of a position from the form in which the copy compares keys."""
        if key == inf:
            return None
        return -key if self.is_descending else key


def _build_title_expression() -> Combinable:
    """Return the key of the title in code point order."""
    return Collate("title_key", arrays.byte_collation())


DEFAULT_SORT: Final = "popular"
REVERSE_PREFIX: Final = "-"
_sorts: Final[dict[str, Sort]] = {
    sort.name: sort
    for sort in (
        Sort(DEFAULT_SORT, _("Most read"), _("Least read"), keys.popular, lambda: F("popularity"), is_descending=True),
        Sort("newest", _("Newest"), _("Oldest"), keys.newest, lambda: F("year"), is_descending=True, has_gaps=True),
        Sort(
            "rating",
            _("Highest rated"),
            _("Lowest rated"),
            keys.ratings,
            lambda: F("rating"),
            is_descending=True,
            has_gaps=True,
        ),
        Sort("title", _("Title: A to Z"), _("Title: Z to A"), keys.titles, _build_title_expression, is_text=True),
    )
}


def register_sort(sort: Sort) -> None:
    """Register an order, after the orders that are already registered."""
    _sorts[sort.name] = sort


def all_sorts() -> Sequence[Sort]:
    """Return all orders, in the sequence in which pages offer them."""
    return tuple(_sorts.values())


def get_sort(name: str) -> Sort:
    """Return the order called ``name``. Raises KeyError."""
    return _sorts[name[1:]].reverse() if name.startswith(REVERSE_PREFIX) else _sorts[name]


def get_sort_or_default(name: str) -> Sort:
    """Return the order called ``name``, or the default order if the name is unknown."""
    return get_sort(name) if name.removeprefix(REVERSE_PREFIX) in _sorts else _sorts[DEFAULT_SORT]


def find_other_mirrors() -> dict[str, Callable[[], str]]:
    """Return the other mirrors that place books, each with a function that returns the key of its sorted set."""
    return {sort.mirror: sort.place for sort in _sorts.values() if sort.is_partial}
