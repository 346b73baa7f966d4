"""Copies of the demo's data: the same community, catalogue and shop many times, so a site grows with its distribution.

Copies have their own readers, books, authors, posts, orders and logins, and share the tags. The readers of every second
copy read, buy, review, like and follow what those of the demo do, so books, posts and readers also become more popular.
Replies of all copies answer the posts of the demo.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.core.management.color import no_style
from django.db import connection
from django.db.models import AutoField, Field, Model
from django.test import Client

from accounts.models import LoginStats, User
from catalog.details.models import BookDetails
from catalog.lists.models import ListedBook, ReadingList
from catalog.models import Author, Book, Tagging
from catalog.shelves.models import Shelf, ShelfEntry
from loginlog.days import today
from loginlog.models import LoginMonth, Number
from mirror.models import Change
from shop.models import Order, OrderEvent, OrderLine, Product, SaleItem, View
from social.models import Follow, Hashtag, Like, Mention, Post
from social.reviews.models import Review

_SUFFIX: Final = "{column} || ' ' || {copy}"
_LOGIN_MONTH: Final = "substr(CAST(month AS text), 1, 7) || '_' || user_type || '_' || ({user_id})"
# The models in the order of their foreign keys, with the expressions of columns that are not copied as they are.
# In them, a column in braces stands for the expression that it would have otherwise.
_MODELS: Final[Mapping[type[Model], Mapping[str, str]]] = {
    User: {"username": _SUFFIX, "name_key": _SUFFIX, "name_skeleton": _SUFFIX},
    LoginStats: {},
    Number: {},
    LoginMonth: {"name": _LOGIN_MONTH},
    Author: {"name": _SUFFIX},
    Book: {"title": _SUFFIX, "popularity": "popularity + {copy}", "isbn": "''"},
    Book.authors.through: {},
    Tagging: {},
    BookDetails: {},
    Product: {},
    SaleItem: {},
    ReadingList: {},
    ListedBook: {},
    ShelfEntry: {},
    View: {
        "visitor": "substr({copy} || ' ' || {column}, 1, 64)",
        "id": "ROW_NUMBER() OVER (ORDER BY id) + {copy} * 1000000",
    },
    Order: {"key": _SUFFIX},
    OrderLine: {},
    OrderEvent: {"payment_id": "NULL"},
    Post: {"parent_author_id": "parent_author_id"},
    Review: {},
    Mention: {},
    Hashtag: {},
    Like: {},
    Follow: {},
}
# Models whose ids are no small numbers: those of the demo are found by their users.
_BY_USER: Final = (LoginMonth, View)
# Columns that name a row of the demo in every second copy.
_SHARED: Final = {
    (ListedBook, "book_id"),
    (ShelfEntry, "book_id"),
    (View, "book_id"),
    (OrderLine, "product_id"),
    (Post, "book_id"),
    (Review, "book_id"),
    (Mention, "user_id"),
    (Like, "post_id"),
    (Follow, "followee_id"),
}


class Copies:
    """The copies of the demo's data.

    count: how many times the data exist. reader: gets as many times the books, and follows as many times the readers.
    """

    def __init__(self) -> None:
        self.count = 1
        self.reader = User.objects.order_by("pk")[0]
        self._shelved = ShelfEntry.objects.filter(user=self.reader).count()
        self._followed = Follow.objects.filter(follower=self.reader).count()
        self._greatest: dict[type[Model], int] = {}
        for model in _MODELS:
            newest = model._base_manager.order_by("-pk").values_list("pk", flat=True).first()
            if isinstance(newest, int):
                self._greatest[model] = newest

    def grow_to(self, count: int) -> None:
        """Add copies until the data exist ``count`` times. All mirrors must be rebuilt then."""
        # The ids of what the reader got before belong to the next copies.
        for given in (ShelfEntry, Follow):
            given._base_manager.filter(pk__gt=self._greatest[given] * self.count)._raw_delete("default")
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                # Without triggers and checks of foreign keys, which take most of the time.
                cursor.execute("SET session_replication_role = replica")
            for model in _MODELS:
                for number in range(self.count, count):
                    cursor.execute(self._make_statement(model, number))
            if connection.vendor == "postgresql":
                cursor.execute("RESET session_replication_role")
            for statement in connection.ops.sequence_reset_sql(no_style(), list(_MODELS)):
                cursor.execute(statement)
            self.count = count
            self._grow_reader()
            cursor.execute("ANALYZE")
        Change.objects.pending()._raw_delete("default")

    def _grow_reader(self) -> None:
        entries = ShelfEntry.objects.filter(user=self.reader)
        books = Book.objects.exclude(pk__in=entries.values("book")).order_by("?")
        wanted = books.values_list("pk", flat=True)[: self._shelved * self.count - entries.count()]
        ShelfEntry.objects.bulk_create(
            ShelfEntry(user=self.reader, book_id=pk, shelf=Shelf.READ, stars=8, shelved_on=today()) for pk in wanted
        )
        follows = Follow.objects.filter(follower=self.reader)
        users = User.objects.exclude(pk__in=follows.values("followee")).exclude(pk=self.reader.pk).order_by("?")
        chosen = users.values_list("pk", flat=True)[: self._followed * self.count - follows.count()]
        Follow.objects.bulk_create(Follow(follower=self.reader, followee_id=pk) for pk in chosen)

    def _make_statement(self, model: type[Model], number: int) -> str:
        usual = {
            str(field.column): self._copy_column(model, field, number)
            for field in model._meta.concrete_fields
            if not field.generated
        }
        names = {**usual, "copy": number}
        values = usual | {
            column: text.format_map({**names, "column": column}) for column, text in _MODELS[model].items()
        }
        is_by_user = model in _BY_USER
        key = "user_id" if is_by_user else str(model._meta.pk.column)
        limit = self._greatest[User if is_by_user else _find_owner(model)]
        columns = ", ".join(f'"{column}"' for column in values)
        rows = f"SELECT {', '.join(values.values())} FROM {model._meta.db_table} WHERE {key} <= {limit}"
        return f"INSERT INTO {model._meta.db_table} ({columns}) {rows}"

    def _copy_column(self, model: type[Model], field: "Field[Any, Any]", number: int) -> str:
        """Return the expression of a column: with each copy ids grow by the greatest one of the demo."""
        column = str(field.column)
        is_shared = (model, column) in _SHARED and number % 2 == 0
        if is_shared or not (isinstance(field, AutoField) or field.remote_field):
            return f'"{column}"'
        greatest = self._greatest.get(_find_owner(field.related_model or model), 0)
        return f'"{column}" + {number * greatest}'


def _find_owner(model: Any) -> type[Model]:
    """Return the model whose ids a model has: itself, or that of the row that it belongs to."""
    key = model._meta.pk
    return _find_owner(key.related_model) if key.remote_field else model


def log_in_staff() -> str:
    """Create a superuser, and return the cookie of a session."""
    client = Client()
    client.force_login(User.objects.create(username="Staff", is_staff=True, is_superuser=True, user_type="office"))
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
