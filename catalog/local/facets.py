"""Facets: the most frequent tags of a result, with exact counts, but without counting every tag."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappush, heappushpop, nsmallest

from pyroaring import BitMap64

from catalog.listing.answers import TagCounts


def find_facets_by_counting(tags_of: Iterable[Iterable[str]], limit: int, without: Collection[str]) -> TagCounts:
    """Return the ``limit`` most frequent tags of some books, most frequent first, then by name. For small results."""
    counts: Counter[str] = Counter()
    for tags in tags_of:
        counts.update(tags)
    for name in without:
        counts.pop(name, None)
    # Not Counter.most_common: it orders equal counts by their first occurrence, and not by name.
    by_size = [(-count, name) for name, count in counts.items()]
    return [(name, -less) for less, name in nsmallest(limit, by_size)]


def find_facets_by_threshold(
    books: BitMap64,
    sizes: Sequence[tuple[int, str]],
    members: Mapping[str, BitMap64],
    limit: int,
    without: Collection[str],
) -> TagCounts:
    """Return the same for large results: examine tags by falling size while one can still qualify.

    sizes: (minus the number of books with a tag, its name), ascending. A tag cannot have more books in the result
    than in total, so the search ends when the next size is below the lowest count kept.
    """
    found: list[tuple[int, str]] = []
    kept: list[int] = []  # a heap: the ``limit`` highest counts so far
    for less, name in sizes:
        if len(kept) == limit and -less < kept[0]:
            break
        if name in without:
            continue
        count = books.intersection_cardinality(members[name])
        if not count:
            continue
        if len(kept) < limit:
            heappush(kept, count)
        elif count >= kept[0]:
            # An equal count may still win by its name, so the order of names decides below.
            heappushpop(kept, count)
        else:
            continue
        found.append((-count, name))
    return [(name, -less) for less, name in sorted(found)[:limit]]
