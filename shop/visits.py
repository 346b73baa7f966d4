"""Views of books as visits: their entries in the stream, and their rows in SQL."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from django.db import connections

from mirror.conf import setting
from mirror.utils import arrays
from mirror.visits import Visit, VisitKind, register
from shop import keys

_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)

# The joins leave out views of deleted books. Those of deleted users stay, as in SQL, without the user; others without
# a user belong to their session's user.
_INSERT_VIEWS: Final = """
    INSERT INTO shop_view (id, visitor, user_id, book_id, seen_at)
    SELECT given.entry, given.visitor, COALESCE(known.id, s.user_id), b.id, given.seen_at
      FROM {given} JOIN catalog_book b ON b.id = given.book
      LEFT JOIN accounts_user known ON known.id = given.person
      LEFT JOIN accounts_session s ON s.session_key = given.visitor
     WHERE TRUE ORDER BY given.entry ON CONFLICT DO NOTHING
"""
_TYPES: Final = {
    "entry": "bigint",
    "visitor": "text",
    "person": "bigint",
    "book": "bigint",
    "seen_at": "timestamptz",
}


class ViewFact(NamedTuple):
    """A view. user_id: None if the visitor's session tells the user."""

    visitor: str
    user_id: int | None
    book_id: int
    seen_at: datetime


class ViewVisits(VisitKind):
    """Views of books. The number of an entry is the id of its row, so a view that a login has moved is not doubled."""

    name = "view"

    @property
    def beside(self) -> str:
        return keys.popularity()

    def parse(self, fields: Mapping[str, str]) -> ViewFact:
        user, seen_at = fields["user"], _EPOCH + timedelta(microseconds=int(fields["at"]))
        return ViewFact(fields["visitor"], int(user) if user else None, int(fields["book"]), seen_at)

    def save(self, visits: Sequence[Visit]) -> None:
        rows = [(number, fact.visitor, fact.user_id, fact.book_id, fact.seen_at) for number, fact in visits]
        given, parameters = arrays.make_table(_TYPES, rows)
        with connections[setting("DATABASE")].cursor() as cursor:
            cursor.execute(_INSERT_VIEWS.format(given=given), parameters)


views: Final = register(ViewVisits())
