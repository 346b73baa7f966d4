"""Search for books, authors, tags and readers, best results first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from catalog.books.records import BookRecord
from catalog.search.corrections import SearchQuery, parse_query
from catalog.search.entries import WORD_LISTS, split_names
from catalog.search.finding import MAX_MATCHES, find_candidates
from catalog.search.names.titles import collect_book_names
from catalog.search.ranking import ALL_WORDS, FUZZY, DocumentTexts, Rank, collect_texts, rank_document
from catalog.search.results.arrangement import find_famous_authors, put_volumes_in_order
from catalog.search.results.candidates import CandidateIds, LoadedCandidates, load_candidates
from catalog.search.results.values import MAX_BOOKS, NamedResult, SearchResults, count_pages
from catalog.values.isbns import has_wrong_check_digit

MAX_QUERY_LENGTH: Final = 200  # letters; the rest is ignored
MAX_PAGES: Final = MAX_MATCHES // MAX_BOOKS
MAX_OTHERS: Final = 6  # authors, tags, readers
MAX_CANDIDATES: Final = 48  # of each kind, for the detailed comparison
BOOK_LISTS: Final = "bg"  # the kinds of lists that contain books


def search(
    text: str, viewer: int = 0, most: int | None = None, page: int | None = None, kinds: str = WORD_LISTS
) -> SearchResults:
    """Find books, authors, tags and readers for ``viewer`` (0: not logged in).

    most: the maximum number of books (None: ``MAX_BOOKS``). page: the number of the page of all books that match; None:
    only the best books. kinds: the letters of the kinds to find (``catalog.search.entries``). From warm mirrors: 3
    round trips and no SQL; one more for a further page.
    """
    text = " ".join(text[:MAX_QUERY_LENGTH].split())
    if has_wrong_check_digit(text):
        return SearchResults(text, [], [], [], [], is_wrong_isbn=True)
    query = parse_query(text)
    if not query.query_words:
        return SearchResults(text, [], [], [], [])
    candidates = find_candidates(query, kinds, with_matches=page is not None)
    found = {kind: members[:MAX_CANDIDATES] for kind, members in candidates.by_kind.items() if kind in kinds}
    wanted = CandidateIds(
        _parse_ids([*found.get("b", ()), *candidates.matches[:MAX_BOOKS]]),
        [_parse_named_result(member) for member in found.get("t", ())],
        _parse_ids(found.get("r", ())),
    )
    loaded = load_candidates(wanted, viewer)
    ranked = _rank(query, loaded.books, _collect_book_texts)
    matching = put_volumes_in_order([(rank, book) for rank, book in ranked if rank[0] < FUZZY])
    matches = _join_matches(matching, candidates.matches)
    similar = [book["id"] for _, book in ranked if book["id"] not in matches]
    authors = list(map(_parse_named_result, found.get("a", ())))
    # Where books have all words as they were typed, a name with similar words is another one ("otter" for "potter").
    rank_named = partial(_rank_names, query, with_mistakes=not matches)
    results = SearchResults(
        text,
        [],
        _pick_authors(rank_named(authors), ranked),
        [tag for _, tag in rank_named(loaded.tags)[:MAX_OTHERS]],
        [reader for _, reader in rank_named(loaded.readers)[:MAX_OTHERS]],
        matches=matches,
        similar=similar[: max(0, MAX_BOOKS - len(matches))],
        is_complete=candidates.is_complete,
        page=min(page or 1, count_pages(matches)),
        known_words=query.known_words,
        corrected="" if matches else query.corrected,
    )
    if results.page > 1:
        return _load_page(results, viewer)
    shown = [pk for pk in (*results.matches, *results.similar) if pk in wanted.books]
    return _add_books(results, shown[: most or MAX_BOOKS], wanted.books, loaded, viewer)


def _add_books(
    results: SearchResults, shown: Sequence[int], wanted: Sequence[int], loaded: LoadedCandidates, viewer: int
) -> SearchResults:
    """Return the results with the books ``shown``. wanted: the ids of the books that were asked for."""
    books = {book["id"]: book for book in loaded.books}
    there = [pk for pk in shown if pk in books]
    places = [wanted.index(pk) for pk in there]
    return replace(
        results,
        books=[books[pk] for pk in there],
        card_values=[[values[n] for n in places] for values in loaded.card_values],
        entries=[loaded.entries[n] for n in places] if viewer else None,
    )


def find_matching_books(text: str) -> Sequence[int]:
    """Return the ids of the books that a search for ``text`` finds, best first."""
    found = search(text, page=1, kinds=BOOK_LISTS)
    return found.matches or found.similar


def _parse_ids(members: Iterable[str]) -> list[int]:
    return list(dict.fromkeys(int(member[1:]) for member in members))


def _join_matches(best: Iterable[BookRecord], others: Sequence[str]) -> list[int]:
    """Return the ids of all books that match: the ones that were compared in detail, then the others by weight."""
    return list(dict.fromkeys([*(book["id"] for book in best), *_parse_ids(others)]))


def _load_page(results: SearchResults, viewer: int) -> SearchResults:
    """Return the results with the books of their page."""
    end = results.page * MAX_BOOKS
    shown = list(results.matches[end - MAX_BOOKS : end])
    return _add_books(results, shown, shown, load_candidates(CandidateIds(shown, [], []), viewer), viewer)


def _pick_authors(
    named: Sequence[tuple[Rank, NamedResult]], ranked: Sequence[tuple[Rank, BookRecord]]
) -> list[NamedResult]:
    """Return the best authors: those with the words of the query in their names, then those of the books with these
    words in titles, then those with similar names.
    """
    famous = find_famous_authors(book for rank, book in ranked if rank[0] <= ALL_WORDS)
    found: dict[int, NamedResult] = {author.id: author for rank, author in named if rank[0] < FUZZY}
    for pk, name in famous:
        found.setdefault(pk, NamedResult(pk, name))
    for _, author in named:
        found.setdefault(author.id, author)
    return list(found.values())[:MAX_OTHERS]


def _parse_named_result(member: str) -> NamedResult:
    """Return the author or tag that a member of a list names. The list is sorted by weight."""
    pk, _, text = member[1:].partition("|")
    name, *others = split_names(text)
    return NamedResult(int(pk), name, others=tuple(others))


Candidate = TypeVar("Candidate")


def _rank(
    query: SearchQuery, candidates: Sequence[Candidate], texts: Callable[[Candidate], DocumentTexts]
) -> list[tuple[Rank, Candidate]]:
    """Return the candidates that match, with their ranks, best first.

    Among equals, the heaviest come first, then those that come first in the list.
    """
    ranked = [(rank_document(query, texts(one)), n, one) for n, one in enumerate(candidates)]
    found = [(rank, -_get_weight(one), n, one) for rank, n, one in ranked if rank is not None]
    return [(rank, one) for rank, _, _, one in sorted(found, key=lambda each: each[:3])]


def _rank_names(
    query: SearchQuery, candidates: Sequence[Candidate], *, with_mistakes: bool
) -> list[tuple[Rank, Candidate]]:
    """Rank authors, tags or readers. with_mistakes: whether also those with words that are only similar."""
    ranked = _rank(query, candidates, _collect_name_texts)
    return [(rank, one) for rank, one in ranked if with_mistakes or not (rank[0] == FUZZY and rank[3])]


def _get_weight(found: Any) -> int:
    return int(found["popularity"]) if isinstance(found, BookRecord) else int(getattr(found, "weight", 0))


def _collect_book_texts(book: BookRecord) -> DocumentTexts:
    names = collect_book_names(book["title"], book["original_title"], book["isbn"])
    return collect_texts(names.full, tuple(book["authors"]), tuple(book["tags"]), names.shorter)


def _collect_name_texts(named: Any) -> DocumentTexts:
    return collect_texts((named.name, *getattr(named, "others", ())))
