"""The kind of notifications of this application, and what its pages show."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_lazy as _

from accounts.notifications.kinds import Detail, Kind, register
from catalog.books.series import split_title
from catalog.mirrors import BookMirror
from common.paths import make_path


def register_kinds() -> None:
    """Register the kind."""
    register(
        Kind(
            "new_book",
            _("A new book by an author you follow"),
            _("New by an author you follow: %(title)s"),
            _find_books,
            has_people=False,
        )
    )


def _find_books(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    found = {}
    for pk, book in BookMirror.get_many(ids).items():
        authors = ", ".join(book["authors"])
        found[pk] = Detail(make_path("catalog:book", pk), title=split_title(book["title"])[0], quote=authors)
    return found
