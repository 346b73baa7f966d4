"""The beginnings of texts."""

import re
from typing import Final

_CUT_WORD: Final = re.compile(r"\s+\S*$")
_STOPS: Final = " ,;:.…，；：。、"


def shorten_text(text: str, characters: int) -> str:
    """Return a text, or its first words with "…" if it has more characters. A text without blanks is cut anywhere."""
    if len(text) <= characters:
        return text
    # One character more shows whether the last word is whole, and the dots take one.
    return f"{(_CUT_WORD.sub('', text[:characters]) or text[: characters - 1])[: characters - 1].rstrip(_STOPS)}…"
