"""Tags that are one typing mistake away from an unknown name.

After Peter Norvig, "How to Write a Spelling Corrector" (2007): all texts at distance one are looked up. The work is
bounded and does not depend on the number of tags.
"""

from typing import Final

from catalog.names import normalise

MAX_SIMILAR_TAGS: Final = 3  # similar tags for one name
MAX_UNKNOWN_NAMES: Final = 3  # unknown names of a query for which similar tags are found
MAX_NAME_LENGTH: Final = 30  # characters; longer names have too many variants
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789- "


def generate_variants(name: str) -> list[str]:
    """Return the names at distance one: a character removed, added or changed, or two neighbours swapped."""
    if len(name) > MAX_NAME_LENGTH:
        return []
    found: set[str] = set()
    for place in range(len(name) + 1):
        start, end = name[:place], name[place:]
        rest = end[1:]
        found.add(start + rest)
        if len(end) > 1:
            found.add(start + end[1] + end[0] + end[2:])
        for letter in LETTERS:
            found.add(start + letter + rest)
            found.add(start + letter + end)
    # A name with a blank at its end, for example, is never stored.
    return sorted(text for text in found if text and text != name and normalise(text) == text)


def pick_most_used(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Return the few similar tags with the most books, then by name. counts: the number of books by tag."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_SIMILAR_TAGS]
