"""Mirrors of readers' lists. Both are strict: a list that was made private is private within seconds."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

import mirror
from catalog import keys
from catalog.lists.models import ListedBook, ReadingList
from catalog.shelves.models import Privacy
from common.ids import parse_ids
from mirror import Column, Mirror, Ranking, SetOf, SqlMembers
from mirror.conf import setting


@mirror.register
class ReadingListMirror(Mirror):
    """The name, description, privacy and order of a list, and the lists of each active reader."""

    label = _("lists of books")
    model = ReadingList
    key = keys.reading_list("{pk}")
    fields = ("id", Column("user_id", name="user"), "name", "description", "privacy", "order")
    where = Q(user__is_active=True)
    strict = True
    indexes = (Ranking(keys.lists_of("{{user}}"), score="id"),)


def _is_public(record: Mapping[str, Any]) -> bool:
    return bool(record["privacy"] == Privacy.PUBLIC)


def _find_public_in_sql(values: Mapping[str, str]) -> SqlMembers:
    rows = ListedBook.objects.using(setting("DATABASE")).filter(book_id__in=parse_ids([values["book"]]))
    shown = rows.filter(reading_list__user__is_active=True, reading_list__privacy=Privacy.PUBLIC)
    return SqlMembers(shown, "pk", "pk")


@mirror.register
class ListedBookMirror(Mirror):
    """A book on a list: its places in both orders of the list, and its place among the book's public lists."""

    label = _("books on lists")
    model = ListedBook
    key = keys.listed_book("{pk}")
    fields = (
        "id",
        Column("reading_list_id", name="list"),
        Column("reading_list__user_id", name="user"),
        Column("reading_list__privacy", name="privacy"),
        Column("book_id", name="book"),
        "position",
        "added_on",
    )
    where = Q(reading_list__user__is_active=True)
    strict = True
    indexes = (
        # Two rankings, so that another order of a list changes no row.
        Ranking(keys.books_by_position("{{list}}"), score="position"),
        Ranking(keys.books_by_addition("{{list}}"), score="id"),
        SetOf(keys.listings_of("{{user}}", "{book}")),
        Ranking(keys.public_listings("{{book}}"), score="id", when=_is_public, sql=_find_public_in_sql),
    )
