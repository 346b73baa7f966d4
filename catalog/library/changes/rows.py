"""Rows and what they tell."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from catalog.library.formats import ImportedBook
from catalog.library.models import ImportRow
from catalog.shelves.models import Shelf

# Values of a row that may have no effect, because a reader has one shelf, one rating and one review for a book.
LEFT_OUT: Final = {
    "shelf": gettext_lazy("another shelf"),
    "stars": gettext_lazy("other stars"),
    "dates": gettext_lazy("other dates"),
    "review": gettext_lazy("another review"),
    "long": gettext_lazy("a review that is too long"),
}
# The notes of what a row changes.
CHANGES: Final = ("made", "filled", "readings", "progress", "review", "listed")


class Chunk(NamedTuple):
    """Rows of one import, each with what it tells. All have books."""

    rows: Sequence[ImportRow]
    told: Sequence[ImportedBook]

    @property
    def books(self) -> set[int]:
        """The ids of the books."""
        return set(map(get_book_id, self.rows))

    def pairs(self) -> Iterable[tuple[ImportRow, ImportedBook]]:
        """Return the rows with what they tell."""
        return zip(self.rows, self.told, strict=True)


def get_book_id(row: ImportRow) -> int:
    """Return the book of a row; 0 for none."""
    return row.book_id or 0


def note_left_out(row: ImportRow, name: str) -> None:
    """Note that a value of a row has no effect. name: of ``LEFT_OUT``."""
    names = row.changes.setdefault("left_out", [])
    if name not in names:
        names.append(name)


def collect_changes(rows: Sequence[ImportRow], name: str) -> list[Any]:
    """Return all members of the lists that rows noted under this name."""
    found: list[Any] = []
    for row in rows:
        found += row.changes.get(name, ())
    return found


class RowSummary(NamedTuple):
    """What a row changes. shelf: on which it puts the book, or "". is_moved: from "want to read".

    lists: the number of lists that get the book. left_out: names of ``LEFT_OUT``.
    """

    shelf: str
    is_moved: bool
    has_stars: bool
    has_dates: bool
    has_pages: bool
    has_progress: bool
    readings: int
    has_review: bool
    lists: int
    left_out: tuple[str, ...]

    @property
    def left_out_labels(self) -> list[str]:
        """The values that have no effect, because the reader or an earlier row has others, in words."""
        return [str(LEFT_OUT[name]) for name in self.left_out]

    @property
    def labels(self) -> list[str]:
        """The changes in words, none if there are none."""
        names = {"shelf": Shelf(self.shelf).label if self.shelf else "", "want": Shelf.WANT.label}
        readings = ngettext("%(n)s earlier reading", "%(n)s earlier readings", self.readings) % {"n": self.readings}
        lists = ngettext("on %(n)s list", "on %(n)s lists", self.lists) % {"n": self.lists}
        labels = (
            (self.shelf and not self.is_moved, _("on “%(shelf)s”") % names),
            (self.is_moved, _("from “%(want)s” to “%(shelf)s”") % names),
            (self.has_stars, _("stars")),
            (self.has_dates, _("dates")),
            (self.has_pages, _("pages of the edition")),
            (self.has_progress, _("progress")),
            (self.readings, readings),
            (self.has_review, _("a review")),
            (self.lists, lists),
        )
        return [label for is_present, label in labels if is_present]


def summarize_row(row: ImportRow) -> RowSummary:
    """Return what a row has changed, or would change."""
    changes = row.changes
    filled = changes.get("filled", {})
    fields = {**filled, **changes.get("made", {})}
    return RowSummary(
        shelf=fields.get("shelf") or "",
        is_moved="shelf" in filled,
        has_stars=bool(fields.get("stars")),
        has_dates=bool(fields.get("started_on") or fields.get("finished_on")),
        has_pages=bool(fields.get("pages")),
        has_progress="progress" in changes,
        readings=len(changes.get("readings", ())),
        has_review="review" in changes,
        lists=len(changes.get("listed", ())),
        left_out=tuple(changes.get("left_out", ())),
    )
