"""Keep documents, the vocabulary and their lists in SQL consistent with the rows that they are derived from.

All functions run in the caller's transaction.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import Model

from catalog.search import entries
from catalog.search.lists import Entry, change_lists, read_heaviest
from catalog.search.models import Document, Posting, Term
from mirror.conf import database, setting

MAX_WEIGHT = 2**53  # the largest integer that a score in Redis represents exactly


class DocumentRecord(NamedTuple):
    """A document derived from its row. keys: sorted."""

    id: str
    text: str
    weight: int
    keys: list[str]

    @property
    def member(self) -> str:
        """Its member in lists: its id and, if that saves a look-up, its name."""
        return f"{self.id}|{self.text}" if self.text else self.id

    @property
    def entries(self) -> set[Entry]:
        """Its entries in lists."""
        return {(key, self.member, self.weight) for key in self.keys}


class TermRecord(NamedTuple):
    """A term derived from its documents."""

    text: str
    weight: int

    @property
    def member(self) -> str:
        """Its member in lists."""
        return self.text

    @property
    def entries(self) -> set[Entry]:
        """Its entries in lists."""
        return {(key, self.text, self.weight) for key in entries.build_term_keys(self.text)}


def build_document(pk: str, text: str, weight: int | None, keys: Iterable[str]) -> DocumentRecord:
    """Return a document in the form for comparison and storage."""
    return DocumentRecord(pk, text, min(weight or 0, MAX_WEIGHT), sorted(set(keys)))


def read_documents(ids: Sequence[str]) -> dict[str, DocumentRecord]:
    """Return the stored documents among ``ids``."""
    rows = _select_rows(Document, ids).values_list("id", "text", "weight", "keys")
    return {row.id: row for row in map(DocumentRecord._make, rows)}


def read_terms(terms: Sequence[str]) -> dict[str, TermRecord]:
    """Return the words of the vocabulary among ``terms``."""
    rows = _select_rows(Term, terms).values_list("text", "weight")
    return {row.text: row for row in map(TermRecord._make, rows)}


def find_complete_documents(documents: Sequence[DocumentRecord]) -> set[str]:
    """Return the ids of documents that are on exactly the lists that they name."""
    found = _read_entries([made.member for made in documents], of_documents=True)
    return {made.id for made in documents if found[made.member] == made.entries}


def _read_entries(members: Collection[str], *, of_documents: bool) -> dict[str, set[Entry]]:
    """Return the entries of these members in lists of documents, or in lists of words."""
    # A word of the vocabulary can equal the member of a document ("b1"), and both are in one table.
    found: dict[str, set[Entry]] = {member: set() for member in members}
    rows = Posting.objects.using(setting("DATABASE")).filter(member__in=members)
    for key, member, weight in rows.values_list("key", "member", "weight"):
        if entries.is_document_list(key) == of_documents:
            found[member].add((key, member, weight))
    return found


def replace_documents(ids: Sequence[str], made: Mapping[str, DocumentRecord]) -> None:
    """Replace the documents ``ids`` by ``made``, and update the lists and the vocabulary.

    Documents that ``made`` lacks are deleted.
    """
    changed = _replace_rows(Document, ids, read_documents(ids), made)
    touched = _find_words(changed)
    # After the lists have changed, because a word's weight is read from them.
    old, new = read_terms(touched), _weigh_terms(touched)
    differing = [term for term in touched if old.get(term) != new.get(term)]
    _replace_rows(Term, differing, _pick(old, differing), _pick(new, differing))


def _find_words(changed: Iterable[Entry]) -> list[str]:
    """Return the sorted words whose lists of documents have changed."""
    found = {entries.parse_term(key) for key, _, _ in changed}
    return sorted(term for term in found if term is not None)


def _pick(terms: Mapping[str, TermRecord], wanted: Iterable[str]) -> dict[str, TermRecord]:
    return {term: terms[term] for term in wanted if term in terms}


def _replace_rows(model: type[Model], ids: Sequence[str], old: Mapping[str, Any], new: Mapping[str, Any]) -> set[Entry]:
    """Write the rows and entries that differ. Return the entries that were added or removed."""
    deleted = [pk for pk in ids if pk in old and pk not in new]
    if deleted:
        _select_rows(model, deleted).delete()
    _write_rows(model, [made for pk, made in new.items() if made != old.get(pk)])
    if not (old or new):
        return set()
    return _replace_entries(list(old.values()), list(new.values()), of_documents=model is Document)


def _replace_entries(old: Sequence[Any], new: Sequence[Any], *, of_documents: bool) -> set[Entry]:
    """Replace the entries of the records ``old`` by those of ``new``. Return the entries that differ."""
    # A document's member contains its name, so a renamed author has one member before and another one after.
    members = {record.member for record in chain(old, new)}
    # Read from the lists and not derived from ``old``, so that damaged lists are repaired as well.
    stored = _read_entries(members, of_documents=of_documents)
    before = set(chain.from_iterable(stored.values()))
    after = set(chain.from_iterable(record.entries for record in new))
    _change_entries(before, after)
    return before ^ after


def _write_rows(model: type[Model], made: Sequence[DocumentRecord] | Sequence[TermRecord]) -> None:
    """Insert or update rows. The first field of a record is its primary key."""
    if not made:
        return
    primary_key, *others = made[0]._fields
    rows = [model(**one._asdict()) for one in made]
    model._base_manager.using(setting("DATABASE")).bulk_create(
        rows, batch_size=500, update_conflicts=True, unique_fields=[primary_key], update_fields=others
    )


def _change_entries(before: set[Entry], after: set[Entry]) -> None:
    # An entry with another weight is not removed: ``change_lists`` updates it.
    kept = {(key, member) for key, member, _ in after}
    removed = [entry for entry in before if entry[:2] not in kept]
    change_lists(removed, after - before)


def _weigh_terms(terms: Sequence[str]) -> dict[str, TermRecord]:
    """Return the words with documents, each with the weight of its heaviest document."""
    if not terms:
        return {}
    keys = [f"{kind}:{term}" for term in terms for kind in entries.WORD_LISTS]
    found: dict[str, TermRecord] = {}
    for key, weight in read_heaviest(keys).items():
        term = key[2:]
        if term not in found or found[term].weight < weight:
            found[term] = TermRecord(term, weight)
    return found


def _select_rows(model: type[Model], ids: Sequence[str]) -> Any:
    return model._base_manager.using(database()).filter(pk__in=ids)
