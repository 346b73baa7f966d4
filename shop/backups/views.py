"""The backup of views: written to Redis first, and to SQL within two seconds."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

from django.db import connections
from django.utils.translation import gettext_lazy as _

from mirror.backup import Backup, register
from mirror.conf import setting
from mirror.redis import RedisClient, RedisPipeline
from mirror.utils import arrays
from shop import keys
from shop.models import View

_EPOCH = datetime.fromtimestamp(0, tz=UTC)

# The joins leave out deleted books and users. A view without a user belongs to its session's user.
_INSERT_VIEWS = """
    INSERT INTO shop_view (visitor, user_id, book_id, seen_at)
    SELECT given.visitor, COALESCE(known.id, s.user_id), b.id, given.seen_at
      FROM {given} JOIN catalog_book b ON b.id = given.book
      LEFT JOIN accounts_user known ON known.id = given.person
      LEFT JOIN accounts_session s ON s.session_key = given.visitor
     WHERE TRUE ON CONFLICT DO NOTHING
"""
_TYPES = {"visitor": "text", "person": "bigint", "book": "bigint", "seen_at": "timestamptz"}


class ViewFact(NamedTuple):
    """One view, decoded from its mark. user_id: None if the visitor's session tells the user. micros: microseconds
    since 1970.
    """

    visitor: str
    user_id: int | None
    book_id: int
    micros: int

    @classmethod
    def parse(cls, item: str) -> Self:
        """Decode an item. Raises ValueError."""
        visitor, user, book, micros = item.split("|")
        return cls(visitor, int(user) if user else None, int(book), int(micros))

    @property
    def seen_at(self) -> datetime:
        """The time of the view."""
        return _EPOCH + timedelta(microseconds=self.micros)


@register
class ViewBackup(Backup):
    """An item is the whole fact ("visitor|user|book|microseconds"), so it has no separate value.

    Redis drops a view as soon as SQL has it, so views are neither compared nor put back.
    """

    name = "view"
    label = _("views of books")
    every_seconds = 1.0

    def marks(self) -> str:
        return keys.view_marks()

    def ask(self, pipe: RedisPipeline, items: Sequence[str]) -> None:
        pipe.zmscore(self.marks(), list(items))

    def said(self, items: Sequence[str], replies: Sequence[Any]) -> Mapping[str, bool]:
        return {item: True for item, score in zip(items, replies[0], strict=True) if score is not None}

    def save(self, values: Mapping[str, bool | None]) -> None:
        facts = [ViewFact.parse(item) for item in values]
        given, parameters = arrays.make_table(_TYPES, [(f.visitor, f.user_id, f.book_id, f.seen_at) for f in facts])
        with connections[setting("DATABASE")].cursor() as cursor:
            cursor.execute(_INSERT_VIEWS.format(given=given), parameters)

    def load(self, items: Sequence[str]) -> Mapping[str, bool]:
        facts = {item: ViewFact.parse(item) for item in items}
        rows = View.objects.using(setting("DATABASE")).filter(
            visitor__in={f.visitor for f in facts.values()}, seen_at__in={f.seen_at for f in facts.values()}
        )
        known = set(rows.values_list("visitor", "book_id", "seen_at"))
        return {item: True for item, f in facts.items() if (f.visitor, f.book_id, f.seen_at) in known}

    def put_back(self, redis: RedisClient, values: Mapping[str, bool]) -> None:
        """Do nothing: Redis does not need views that SQL has."""

    def items_after(self, after: str | None, limit: int) -> list[str]:
        return []

    def scan(self, redis: RedisClient) -> Iterator[list[str]]:
        return iter(())
