"""Mirrors of search: from rows to documents (both in SQL), and from documents and the vocabulary to Redis."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

from django.db.models import Max
from django.utils.translation import gettext_lazy as _

import mirror
from catalog import keys
from catalog.books.links import find_books_by_authors, find_books_with_tags
from catalog.books.records import load_book_rows, load_tag_names
from catalog.models import Author, AuthorAlias, Book, Tag, Tagging
from catalog.search import entries, store, words
from catalog.search.models import Document, Term
from catalog.search.names.titles import collect_book_names
from common.ids import parse_ids
from mirror import Contribution, Family, Mirror, Scored, TableMirror, Watch
from mirror.conf import setting


class IndexMirror(TableMirror):
    """A mirror from the rows of a model to their documents. kind: a letter of ``entries.WORD_LISTS``."""

    kind: ClassVar[str]
    tables = "search"
    version = 4
    drain = "after_response"

    def make(self, ids: Sequence[int]) -> Iterable[store.DocumentRecord]:
        """Return the documents of the rows among ``ids`` that search can find."""
        raise NotImplementedError

    def name_document(self, pk: object) -> str:
        """Return the id of a row's document."""
        return f"{self.kind}{pk}"

    def _name_documents(self, pks: Sequence[str]) -> list[str]:
        return [self.name_document(pk) for pk in pks]

    def load(self, pks: Sequence[str]) -> Mapping[str, store.DocumentRecord]:
        return {made.id[1:]: made for made in self.make(parse_ids(pks))}

    def replace(self, pks: Sequence[str], rows: Mapping[str, store.DocumentRecord]) -> None:
        made = {document.id: document for document in rows.values()}
        store.replace_documents(self._name_documents(pks), made)

    def stored(self, pks: Sequence[str]) -> Mapping[str, store.DocumentRecord]:
        documents = list(store.read_documents(self._name_documents(pks)).values())
        complete = store.find_complete_documents(documents)
        found = {}
        for document in documents:
            # Without its keys, a document with damaged lists differs from its row, and is written again.
            is_complete = document.id in complete
            found[document.id[1:]] = document if is_complete else document._replace(keys=[])
        return found

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        rows = Document.objects.using(setting("DATABASE")).filter(pk__startswith=self.kind).order_by("pk")
        if after is not None:
            rows = rows.filter(pk__gt=self.name_document(after))
        return [name[1:] for name in rows.values_list("pk", flat=True)[:limit]]


@mirror.register
class BookIndex(IndexMirror):
    """Books: by words of titles and authors, by ISBN, by tags, and by title."""

    name = "indexed_book"
    label = _("search: books")
    kind = "b"
    model = Book
    watches = (
        Watch(Book, only=("title", "original_title", "isbn", "popularity")),
        Watch(Tagging, "book_id"),
        Watch(Book.authors.through, "book_id"),
        Watch(Tag, via=find_books_with_tags, only=("name", "hidden"), inserts=False),
        Watch(Author, via=find_books_by_authors, only=("name",), inserts=False),
    )

    def make(self, ids: Sequence[int]) -> Iterable[store.DocumentRecord]:
        for book in load_book_rows(ids):
            names = collect_book_names(book.title, book.original_title, book.isbn)
            lists = list(entries.build_word_keys("b", words.extract_all_terms(chain(names.full, book.authors))))
            lists += entries.build_name_keys(names.full + names.shorter)
            shown_tags = set(book.tags).difference(book.hidden_tags)
            joined_tags = map(words.join_words, shown_tags)
            # A tag of signs alone ("???") has no word.
            lists += entries.build_word_keys("g", filter(None, joined_tags))
            yield store.build_document(self.name_document(book.id), "", book.popularity, lists)


def _find_authors_of_books(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of one of these books."""
    found = Book.authors.through._base_manager.using(setting("DATABASE")).filter(book_id__in=values)
    if after is not None:
        found = found.filter(author_id__gt=after)
    return [str(pk) for pk in found.order_by("author_id").values_list("author_id", flat=True).distinct()[:limit]]


@mirror.register
class AuthorIndex(IndexMirror):
    """Authors by name, also by those of authors who were merged into them. The weight of an author is the popularity of
    the author's most read book.
    """

    version = 5
    name = "indexed_author"
    label = _("search: authors")
    kind = "a"
    model = Author
    watches = (
        Watch(Author),
        Watch(AuthorAlias, "author_id"),
        Watch(Book.authors.through, "author_id"),
        Watch(Book, via=_find_authors_of_books, only=("popularity",), inserts=False),
    )

    def make(self, ids: Sequence[int]) -> Iterable[store.DocumentRecord]:
        rows = Author.objects.using(setting("DATABASE")).filter(pk__in=ids).order_by()
        aliases = load_aliases(ids)
        for pk, name, weight in rows.values_list("pk", "name").annotate(Max("books__popularity")):
            text = entries.join_names([name, *aliases[pk]])
            lists = chain.from_iterable(entries.build_named_keys("a", each) for each in entries.split_names(text))
            yield store.build_document(self.name_document(pk), text, weight, lists)


def load_aliases(ids: Iterable[int]) -> Mapping[int, list[str]]:
    """Return the names of the authors who were merged into these authors, by author."""
    found = defaultdict[int, list[str]](list)
    rows = AuthorAlias.objects.using(setting("DATABASE")).filter(author_id__in=ids).order_by("name")
    for pk, name in rows.values_list("author_id", "name"):
        found[pk].append(name)
    return found


@mirror.register
class TagIndex(IndexMirror):
    """Shown tags by name. Search counts a tag's books when it finds the tag, because any book can change the count."""

    name = "indexed_tag"
    label = _("search: tags")
    kind = "t"
    model = Tag
    watches = (Watch(Tag),)

    def make(self, ids: Sequence[int]) -> Iterable[store.DocumentRecord]:
        tags = load_tag_names(ids)
        for pk, name in tags.names.items():
            if pk in tags.hidden:
                continue
            lists = entries.build_named_keys("t", name)
            # Also the whole tag as one word: "sciencefiction" finds "science-fiction".
            lists += entries.build_word_keys("t", [words.join_words(name)])
            yield store.build_document(self.name_document(pk), name, 0, lists)


@mirror.register
class DocumentMirror(Mirror):
    """The entries of a document in the lists."""

    name = "document"
    drain = "after_response"
    model = Document
    key = keys.search_document("{pk}")
    watches = (Watch(Document),)

    def load(self, pks: Sequence[str]) -> Mapping[str, store.DocumentRecord]:
        return store.read_documents(pks)

    def record(self, row: Any) -> dict[str, Any]:
        return row._asdict()

    def index(self, pk: str, record: dict[str, Any]) -> Iterable[Contribution]:
        return build_entries(store.DocumentRecord(**record).entries)

    def families(self) -> Sequence[Family]:
        kinds = entries.WORD_LISTS + "=^<>"
        return [Family(keys.search_list(f"{kind}:"), "zset", _parse_document_id) for kind in kinds]


def _parse_document_id(_key: str, member: str) -> str:
    return member.partition("|")[0]


@mirror.register
class TermMirror(Mirror):
    """The entries of a word in the lists of the vocabulary."""

    name = "term"
    drain = "after_response"
    model = Term
    key = keys.search_term("{pk}")
    watches = (Watch(Term),)

    def load(self, pks: Sequence[str]) -> Mapping[str, store.TermRecord]:
        return store.read_terms(pks)

    def record(self, row: Any) -> dict[str, Any]:
        return row._asdict()

    def index(self, pk: str, record: dict[str, Any]) -> Iterable[Contribution]:
        return build_entries(store.TermRecord(**record).entries)

    def families(self) -> Sequence[Family]:
        return [Family(keys.search_list(f"{kind}:"), "zset", lambda _, member: member) for kind in "nsp"]


def build_entries(found: Iterable[tuple[str, str, int]]) -> list[Contribution]:
    """Return list entries in the form of Redis: scored so that the heaviest come first."""
    return [Scored(keys.search_list(key), member, -weight) for key, member, weight in found]
