"""Parity: after any writes in any order, with the relay stopped anywhere, the index at rest follows from the rows.

At rest, the live lists, the lists computed from the rows and the lists after a rebuild are equal, in SQL and in Redis,
and both find the same.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from accounts.models import User
from catalog.models import Author, Book, Tag, Tagging
from catalog.search import entries, store
from catalog.search.models import Document, Posting, Term
from catalog.search.selectors import search
from mirror import registry
from mirror.declare.mirrors import TableMirror
from mirror.kinds import kind_of
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild
from mirror.verify.runs import verify
from tests.support import state_machines
from tests.support.killed import Killed
from tests.support.search.queries import INDEXES, MIRRORS, search_both_ways, warm_search

pytestmark = pytest.mark.also_on("sqlite")

WORDS = ("winter", "winters", "moth", "Möth", "salt", "the", "1984", "雨夜", "hollow", "quarry", "lantern", "lanterns")
text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
numbers = st.integers(0, 5)
Rows = set[tuple[Any, ...]]


def _pick(model: Any, number: int) -> Any:
    rows = list(model.objects.order_by("pk"))
    return rows[number % len(rows)] if rows else None


class Shelves(RuleBasedStateMachine):
    """Random operations on one catalogue."""

    @initialize()
    def begin(self) -> None:
        for model in (Tagging, Book.authors.through, Book, Author, Tag, User, Document, Term, Posting):
            model._base_manager.all()._raw_delete("default")
        relay_client().flushall()
        drain_all()
        warm_search()

    @rule(title=text, author=text, tag=text, popularity=numbers)
    def add(self, title: str, author: str, tag: str, popularity: int) -> None:
        book = Book.objects.create(title=title, popularity=popularity)
        book.authors.add(Author.objects.get_or_create(name=author)[0])
        book.tags.add(Tag.objects.get_or_create(name=tag)[0])

    @rule(titles=st.lists(text, max_size=3))
    def add_in_bulk(self, titles: list[str]) -> None:
        Book.objects.bulk_create(Book(title=title) for title in titles)

    @rule(which=numbers, title=text, popularity=numbers)
    def change(self, which: int, title: str, popularity: int) -> None:
        if book := _pick(Book, which):
            Book.objects.filter(pk=book.pk).update(title=title, popularity=popularity)

    @rule(title=text)
    def write_raw_sql(self, title: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE catalog_book SET title = %s WHERE popularity > 2", [title])

    @rule(model=st.sampled_from([Tag, Author]), which=numbers, name=text)
    def rename(self, model: Any, which: int, name: str) -> None:
        row = _pick(model, which)
        if row and not model.objects.filter(name=name).exists():
            model.objects.filter(pk=row.pk).update(name=name)

    @rule(model=st.sampled_from([Book, Tag, Author]), which=numbers)
    def delete(self, model: Any, which: int) -> None:
        if row := _pick(model, which):
            row.delete()

    @rule(which=numbers)
    def clear_tags(self, which: int) -> None:
        if book := _pick(Book, which):
            book.tags.clear()

    @rule(name=text, is_active=st.booleans())
    def let_a_reader_in_or_out(self, name: str, is_active: bool) -> None:
        User.objects.update_or_create(username=name, defaults={"is_active": is_active, "name_key": name})

    @rule(query=text)
    def search_in_sql(self, query: str) -> None:
        with sql_only():
            search(query)

    @rule(title=text, after=st.booleans())
    def stop_a_drain(self, title: str, after: bool) -> None:
        """End the process before or just after the rows are replaced, which rolls back the transaction."""
        Book.objects.update(title=title)
        mirror = registry.get("indexed_book")
        assert isinstance(mirror, TableMirror)
        replace: Callable[..., None] = mirror.replace

        def stop(*args: Any) -> None:
            if after:
                replace(*args)
            raise Killed

        mirror.replace = stop  # type: ignore[method-assign, assignment]
        try:
            kind_of(mirror).replace_rows([change.key for change in changes.pending_at_all(mirror.name, 50)])
        except Killed:
            pass
        finally:
            del mirror.replace
        drain_all()
        assert verify(INDEXES) == []

    @rule()
    def empty_redis(self) -> None:
        relay_client().flushall()

    @rule()
    def drain(self) -> None:
        drain_all()

    @rule(query=text)
    def rest(self, query: str) -> None:
        drain_all()
        rebuild(MIRRORS)  # Redis may be empty, but the index itself needs no rebuild
        assert verify([*INDEXES, *MIRRORS]) == []
        live = _lists()
        assert live == _computed()
        Posting.objects.all()._raw_delete("default")
        Term.objects.all().delete()
        warm_search()
        rebuild([*INDEXES, *MIRRORS])
        assert _lists() == live
        search_both_ways(query)


def _lists() -> Rows:
    return set(Posting.objects.values_list("key", "member", "weight"))


def _computed() -> Rows:
    """Return all lists, computed from the rows alone, without the tables of the index."""
    found: Rows = set()
    for index in INDEXES:
        mirror = registry.get(index)
        for made in mirror.load(mirror.keys_after(None, 1000)).values():
            found |= made.entries
    weights: dict[str, int] = {}
    for key, _, weight in found:
        if (term := entries.parse_term(key)) is not None:
            weights[term] = max(weight, weights.get(term, 0))
    return found.union(*(store.TermRecord(term, weight).entries for term, weight in weights.items()))


@pytest.mark.slow(20)
@pytest.mark.django_db(transaction=True)
def test_at_rest_the_index_follows_from_the_rows() -> None:
    state_machines.run_machine(Shelves, examples=6, steps=20)
