"""Mirrors of search: from rows to documents (both in SQL), and from documents and the vocabulary to Redis."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import Max

import mirror
from catalog import keys
from catalog.mirrors import books_by_authors, books_with_tags
from catalog.models import Author, Book, Tag, Tagging
from catalog.records import load_books, load_tags
from catalog.search import entries, store, words
from catalog.search.models import Document, Term
from mirror import Contribution, Family, Mirror, Scored, TableMirror, Watch
from mirror.conf import setting


class IndexMirror(TableMirror):
    """A mirror from the rows of a model to their documents. kind: a letter of ``entries.WORD_LISTS``."""

    kind: ClassVar[str]
    tables = "search"

    def make(self, ids: Sequence[int]) -> Iterable[store.Made]:
        """Return the documents of the rows among ``ids`` that search can find."""
        raise NotImplementedError

    def name_document(self, pk: object) -> str:
        """Return the id of a row's document."""
        return f"{self.kind}{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, store.Made]:
        ids = [int(pk) for pk in pks if pk.isascii() and pk.isdecimal() and len(pk) < 19]
        return {made.id[1:]: made for made in self.make(ids)}

    def replace(self, pks: Sequence[str], rows: Mapping[str, store.Made]) -> None:
        store.replace_documents(list(map(self.name_document, pks)), {made.id: made for made in rows.values()})

    def stored(self, pks: Sequence[str]) -> Mapping[str, store.Made]:
        found = list(store.read_documents(list(map(self.name_document, pks))).values())
        complete = store.find_complete(found)
        return {made.id[1:]: made if made.id in complete else made._replace(keys=[]) for made in found}

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        rows = Document.objects.using(setting("DATABASE")).filter(pk__startswith=self.kind).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=self.name_document(after))
        return [pk[1:] for pk in rows.values_list("pk", flat=True)[:limit]]


@mirror.register
class BookIndex(IndexMirror):
    """Books: by words of title and authors, by ISBN, by tags, and by title."""

    name = "indexed_book"
    kind = "b"
    model = Book
    watches = (
        Watch(Book, only=("title", "isbn", "popularity")),
        Watch(Tagging, "book_id"),
        Watch(Book.authors.through, "book_id"),
        Watch(Tag, via=books_with_tags, only=("name", "hidden"), updates=True),
        Watch(Author, via=books_by_authors, only=("name",), updates=True),
    )

    def make(self, ids: Sequence[int]) -> Iterable[store.Made]:
        for book in load_books(ids):
            found = {*words.terms(book.title).union(*map(words.terms, book.authors)), *words.isbns(book.isbn)}
            on = [*entries.word_keys("b", found), *entries.name_keys(_names_of_book(book.title))]
            shown = map(words.joined, set(book.tags).difference(book.hidden_tags))
            on += entries.word_keys("g", filter(None, shown))
            yield store.make(self.name_document(book.id), "", book.popularity, on)


def _names_of_book(title: str) -> list[str]:
    return [*words.names_of_title(title), *filter(None, [words.short_title(title)])]


def _authors_of_books(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of one of these books."""
    found = Book.authors.through._base_manager.using(setting("DATABASE")).filter(book_id__in=values)
    if after is not None:
        found = found.filter(author_id__gt=after)
    return [str(pk) for pk in found.order_by("author_id").values_list("author_id", flat=True).distinct()[:limit]]


@mirror.register
class AuthorIndex(IndexMirror):
    """Authors by name. The weight of an author is the popularity of the author's most read book."""

    name = "indexed_author"
    kind = "a"
    model = Author
    watches = (
        Watch(Author),
        Watch(Book.authors.through, "author_id"),
        Watch(Book, via=_authors_of_books, only=("popularity",), updates=True),
    )

    def make(self, ids: Sequence[int]) -> Iterable[store.Made]:
        rows = Author.objects.using(setting("DATABASE")).filter(pk__in=ids).order_by()
        for pk, name, weight in rows.values_list("pk", "name").annotate(Max("books__popularity")):
            on = [*entries.word_keys("a", words.terms(name)), *entries.name_keys([name])]
            yield store.make(self.name_document(pk), name, weight, on)


@mirror.register
class TagIndex(IndexMirror):
    """Shown tags by name. Search counts a tag's books when it finds the tag, because any book can change the count."""

    name = "indexed_tag"
    kind = "t"
    model = Tag
    watches = (Watch(Tag),)

    def make(self, ids: Sequence[int]) -> Iterable[store.Made]:
        tags = load_tags(ids)
        for pk, name in tags.names.items():
            if pk in tags.hidden:
                continue
            on = [*entries.word_keys("t", words.terms(name) | {words.joined(name)}), *entries.name_keys([name])]
            yield store.make(self.name_document(pk), name, 0, on)


@mirror.register
class DocumentMirror(Mirror):
    """The entries of a document in the lists."""

    name = "document"
    model = Document
    watches = (Watch(Document),)

    def key(self, pk: str) -> str:
        return keys.search_document(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, store.Made]:
        return store.read_documents(pks)

    def record(self, row: Any) -> dict[str, Any]:
        return row._asdict()

    def index(self, record: dict[str, Any]) -> Iterable[Contribution]:
        return place(store.Made(**record).entries)

    def families(self) -> Sequence[Family]:
        kinds = (*entries.WORD_LISTS, "=", "<", ">")
        return [
            Family(keys.search_list(f"{kind}:"), "zset", lambda _, member: member.partition("|")[0]) for kind in kinds
        ]


@mirror.register
class TermMirror(Mirror):
    """The entries of a word in the lists of the vocabulary."""

    name = "term"
    model = Term
    watches = (Watch(Term),)

    def key(self, pk: str) -> str:
        return keys.search_term(pk)

    def load(self, pks: Sequence[str]) -> Mapping[str, store.Word]:
        return store.read_words(pks)

    def record(self, row: Any) -> dict[str, Any]:
        return row._asdict()

    def index(self, record: dict[str, Any]) -> Iterable[Contribution]:
        return place(store.Word(**record).entries)

    def families(self) -> Sequence[Family]:
        return [Family(keys.search_list(f"{kind}:"), "zset", lambda _, member: member) for kind in "nsp"]


def place(found: Iterable[tuple[str, str, int]]) -> list[Contribution]:
    """Return list entries in the form of Redis: scored so that the heaviest come first."""
    return [Scored(keys.search_list(key), member, -weight) for key, member, weight in found]
