"""Search finds every written row at once: in SQL before the relay has run, and in Redis afterwards."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from django.db import connection, transaction
from redis import Redis

from accounts.models import User
from catalog.keys import search_list
from catalog.models import Author, Book, Tag
from catalog.search import store
from catalog.search.mirrors import BookIndex
from catalog.search.models import Document, Posting, Term
from catalog.search.selectors import search
from mirror.declare.mirrors import TableMirror
from mirror.models import Change
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild
from mirror.verify.repair import carry_out, order
from mirror.verify.runs import verify
from tests.support.catalog.make import make_book, make_books
from tests.support.search.queries import INDEXES, MIRRORS, find_titles, search_both_ways, warm_search

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def shelf() -> None:
    make_book("Old Bridge", authors="Ann Fjeld", tags="rivers", popularity=3)
    warm_search()


def _create_in_bulk() -> None:
    make_books([Book(title="New Lantern")])


def _write_raw_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO catalog_book (title, popularity) VALUES ('New Lantern', 1)")


def _update() -> None:
    Book.objects.update(title="New Lantern")


def _rename_an_author() -> None:
    Author.objects.update(name="New Lantern")


def _rename_a_tag() -> None:
    Tag.objects.update(name="new-lantern")


def _write_an_isbn() -> None:
    Book.objects.update(isbn="0451524934")


WRITES = [_create_in_bulk, _write_raw_sql, _update, _rename_an_author, _rename_a_tag]


@pytest.mark.parametrize("write", WRITES)
def test_sql_finds_a_written_row_before_the_relay_has_run(write: Callable[[], None]) -> None:
    write()
    with sql_only():
        assert len(search("new lantern").books) == 1


@pytest.mark.parametrize("write", WRITES)
def test_redis_and_sql_find_a_written_row_after_a_drain(write: Callable[[], None]) -> None:
    write()
    drain_all()
    assert len(search_both_ways("new lantern").books) == 1
    assert verify([*INDEXES, *MIRRORS]) == []


def test_an_isbn_is_found_as_soon_as_it_is_written() -> None:
    _write_an_isbn()
    drain_all()
    assert find_titles("978-0451524935") == ["Old Bridge"]


def test_a_deleted_row_is_not_found_and_leaves_no_documents() -> None:
    Book.objects.all().delete()
    Author.objects.all()._raw_delete("default")
    Tag.objects.all().delete()
    with sql_only():
        assert search("old bridge").is_empty
    drain_all()
    assert search_both_ways("old bridge").is_empty
    assert not any(model.objects.exists() for model in (Document, Posting, Term))
    assert verify([*INDEXES, *MIRRORS]) == []


def test_a_word_stays_in_the_vocabulary_while_a_document_has_it() -> None:
    book = make_book("Old Harbour")
    drain_all()
    book.delete()
    drain_all()
    assert find_titles("odl bridge") == ["Old Bridge"]
    assert search_both_ways("harbour").is_empty
    assert not Term.objects.filter(text="harbour").exists()


def test_inactive_readers_are_not_found() -> None:
    ann = User.objects.create_user("ann")
    drain_all()
    assert [reader.id for reader in search_both_ways("ann").readers] == [ann.pk]
    User.objects.update(is_active=False)
    with sql_only():
        assert search("ann").readers == []
    drain_all()
    assert search_both_ways("ann").readers == []
    assert not Document.objects.filter(id=f"r{ann.pk}").exists()


@pytest.mark.parametrize("flag", ["is_staff", "is_superuser"])
def test_staff_are_not_found(flag: str) -> None:
    ann = User.objects.create_user("ann")
    drain_all()
    for is_staff in (True, False):
        User.objects.update(**{flag: is_staff})
        with sql_only():
            assert bool(search("ann").readers) is not is_staff
        drain_all()
        assert [reader.id for reader in search_both_ways("ann").readers] == ([] if is_staff else [ann.pk])


def test_a_rolled_back_write_is_never_found() -> None:
    with transaction.atomic():
        make_book("New Lantern")
        transaction.set_rollback(True)
    drain_all()
    assert search_both_ways("lantern").is_empty


def test_verify_finds_and_repair_fixes_documents_that_differ_from_their_rows() -> None:
    make_book("Second Quarry")
    drain_all()
    Posting.objects.filter(key="b:quarry").delete()  # no mirror watches the lists
    Document.objects.create(id="b999999", text="", weight=1, keys=["b:ghost"])
    drain_all()
    found = verify(INDEXES)
    assert sorted(difference.kind for difference in found) == ["stale", "stray"]
    order(found)
    carry_out(found)
    drain_all()
    assert verify([*INDEXES, *MIRRORS]) == []
    assert find_titles("quarry") == ["Second Quarry"]


def test_verify_finds_a_stray_in_each_kind_of_list(redis: Redis) -> None:
    kinds = sorted({key.partition(":")[0] for keys in Document.objects.values_list("keys", flat=True) for key in keys})
    assert {"=", "^", "<", ">", "b", "a", "t"} <= set(kinds)
    lists = [search_list(f"{kind}:ghost") for kind in kinds]
    for name in lists:
        redis.zadd(name, {"b999999|Ghost": -1})
    assert sorted(found.key for found in verify(MIRRORS)) == sorted(lists)


@pytest.mark.parametrize("write", [_update, _rename_a_tag])
def test_documents_with_pending_changes_are_no_differences(write: Callable[[], None]) -> None:
    write()
    assert verify(INDEXES) == []


def test_a_drain_of_an_index_marks_only_the_changes_that_it_read() -> None:
    Book.objects.update(title="First")
    with sql_only():
        search("first")
    assert not Change.objects.filter(mirror="indexed_book", applied_at=None).exists()
    Book.objects.update(title="Second")
    assert Change.objects.filter(mirror="indexed_book", applied_at=None).exists()


def test_a_rebuild_from_nothing_writes_larger_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (Document, Posting, Term):
        model._base_manager.all()._raw_delete("default")
    books = TableMirror.batch + 20
    make_books(Book(title=f"Book {number}") for number in range(books - 1))
    sizes: list[int] = []
    replace = BookIndex.replace

    def note_size(self: BookIndex, pks: Sequence[str], rows: Mapping[str, store.DocumentRecord]) -> None:
        sizes.append(len(pks))
        replace(self, pks, rows)

    monkeypatch.setattr(BookIndex, "replace", note_size)
    assert rebuild(["indexed_book"])[0].rows == books
    assert sizes == [books]
    assert rebuild(["indexed_book"])[0].rows == books
    assert sizes == [books, TableMirror.batch, 20]
    assert verify(["indexed_book"]) == []
