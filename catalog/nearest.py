"""Tags that look like a name that no book has: those one slip of the finger away.

After Peter Norvig, "How to Write a Spelling Corrector" (2007): all texts at distance one are looked up, which
takes the same bounded work however many tags there are.
"""

from typing import Final

from catalog.names import normalise

MOST: Final = 3  # similar tags of one name
NAMES: Final = 3  # names of a query that similar ones are looked for
LONGEST: Final = 30  # characters; longer names have too many variants
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789- "


def variants(name: str) -> list[str]:
    """The names at distance one: a character left out, added, changed, or two next to each other swapped."""
    if len(name) > LONGEST:
        return []
    cuts = [(name[:n], name[n:]) for n in range(len(name) + 1)]
    found = {start + end[1:] for start, end in cuts if end}
    found |= {start + end[1] + end[0] + end[2:] for start, end in cuts if len(end) > 1}
    found |= {start + letter + end[1:] for start, end in cuts if end for letter in LETTERS}
    found |= {start + letter + end for start, end in cuts for letter in LETTERS}
    return sorted(text for text in found if text and text != name and normalise(text) == text)


def best(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Of similar tags, given with how many books they have, the few that most books have; then by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST]
