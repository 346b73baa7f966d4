"""Mirrors of follows of authors, and of the notifications that they cause. The key "5:7": reader 5 follows author 7."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

import mirror
from accounts.notifications.tables import Fact, NotificationTable, parse_time, watch_preferences
from catalog import keys
from catalog.following.models import AuthorFollow
from catalog.models import Book
from common.database import pairs
from common.ids import parse_ids
from mirror import Contribution, EdgeMirror, Member, SetOf, SqlMembers, Watch
from mirror.conf import database, setting

_SELECT_FOLLOWS: Final = """
    SELECT f.user_id, f.author_id FROM k JOIN following_authorfollow f ON f.user_id = k.a AND f.author_id = k.b
"""
# Only the newest book: the notification names one. Books from before the follow are not new.
_SELECT_NEW_BOOKS: Final = """
    SELECT f.user_id, f.author_id, b.added_at, b.id
      FROM k
      JOIN following_authorfollow f ON f.user_id = k.a AND f.author_id = k.b
      JOIN catalog_book b ON b.id = (
        SELECT n.id FROM catalog_book_authors l JOIN catalog_book n ON n.id = l.book_id
         WHERE l.author_id = f.author_id AND n.added_at >= f.created_at
         ORDER BY n.added_at DESC, n.id DESC LIMIT 1)
"""


def _find_followers(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(
        AuthorFollow.objects.using(database()).filter(author_id__in=parse_ids([values["owner"]])), "user_id"
    )


def _find_followed(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(
        AuthorFollow.objects.using(database()).filter(user_id__in=parse_ids([values["owner"]])), "author_id"
    )


@mirror.register
class AuthorFollowMirror(EdgeMirror):
    """Each author's followers, which the author's page counts, and the authors that each reader follows."""

    name = "author_follow"
    label = _("followed authors")
    model = AuthorFollow
    indexes = (
        SetOf(keys.author_followers("{{owner}}"), owner="{member}:{owner}", sql=_find_followers),
        SetOf(keys.followed_authors("{{owner}}"), owner="{owner}:{member}", sql=_find_followed),
    )
    watches = (Watch(AuthorFollow, ("user_id", "author_id")),)

    def load(self, pks: Sequence[str]) -> Mapping[str, bool]:
        return {f"{a}:{b}": True for a, b in pairs.query_pairs(_SELECT_FOLLOWS, pairs.parse_pairs(pks))}

    def entries(self, pk: str) -> Iterable[Contribution]:
        reader, _colon, author = pk.partition(":")
        return (Member(keys.author_followers(author), reader), Member(keys.followed_authors(reader), author))


def _list_next(rows: QuerySet[AuthorFollow], after: str | None, limit: int) -> list[str]:
    """Return the next keys of follows, ordered by reader and author."""
    return pairs.list_next(rows, "user_id", "author_id", after, limit)


def _all_follows() -> Any:
    return AuthorFollow._base_manager.using(setting("DATABASE"))


def find_follows_of_authors(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of follows of these authors."""
    return _list_next(_all_follows().filter(author_id__in=parse_ids(values)), after, limit)


def find_follows_of_books(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next keys of follows of the authors of these books."""
    authors = Book.authors.through._base_manager.using(setting("DATABASE")).filter(book_id__in=parse_ids(values))
    return _list_next(_all_follows().filter(author_id__in=authors.values("author_id")), after, limit)


@mirror.register
class NewBookNotifications(NotificationTable):
    """A notification for each followed author with a new book, which names the newest one."""

    name = "notified_new_book"
    label = _("notifications: new books")
    kind = "new_book"
    tables = "notifications_new_book"
    model = AuthorFollow
    watches = (
        Watch(AuthorFollow, ("user_id", "author_id")),
        Watch(Book.authors.through, "author_id", via=find_follows_of_authors),
        Watch(Book, via=find_follows_of_books, only=("added_at",), inserts=False),
        watch_preferences("new_book"),
    )

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        rows = pairs.query_pairs(_SELECT_NEW_BOOKS, pairs.parse_pairs(pks))
        return [Fact(f"{reader}:{author}", reader, None, parse_time(at), book) for reader, author, at, book in rows]

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        return _list_next(_all_follows(), after, limit)
