"""Remove invisible characters, except where they control how the characters beside them are displayed."""

from typing import Final

import regex

# Scripts in which joiners and non-joiners control the shape of letters.
_JOINING: Final = (
    r"\p{Arabic}\p{Syriac}\p{Nko}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}"
    r"\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Balinese}\p{Javanese}"
)
_EMOJI: Final = r"\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?"
_ALLOWED: Final = "|".join(
    (
        r"\U0001F3F4[\U000E0030-\U000E0039\U000E0061-\U000E007A]{1,6}\U000E007F",  # flags: Scotland's
        rf"{_EMOJI}(?:\u200D{_EMOJI})*",
        rf"[{_JOINING}][\u180B-\u180D\u180F\uFE00-\uFE0F]?[\u200C\u200D]",
        r"\p{Script=Mongolian}[\u180B-\u180D\u180F]",
        r"\p{Script=Han}[\U000E0100-\U000E01EF]",
        r"[^\s\p{DI}\p{C}][\uFE00-\uFE0F]",
    )
)
_DIRECTION: Final = r"\u061C\u200E\u200F"
_INVISIBLE: Final = r"[[\p{DI}\p{Cc}\p{Cs}\p{NChar}\uFFF9-\uFFFC]--[\n]]"
_unwanted = regex.compile(rf"({_ALLOWED})|{_INVISIBLE}", regex.V1)
# In right-to-left text a direction mark decides on which side of a word a full stop appears.
_unwanted_rtl = regex.compile(rf"({_ALLOWED}|[{_DIRECTION}](?![{_DIRECTION}]))|{_INVISIBLE}", regex.V1)
_from_the_right = regex.compile(r"[\p{bc=R}\p{bc=AL}--\u200F]", regex.V1)
# Control characters stay here: they are never typed, and the fields refuse them.
_unwanted_in_fields = regex.compile(rf"({_ALLOWED})|[\p{{DI}}\uFFF9-\uFFFB]", regex.V1)


def remove_invisible(text: str) -> str:
    """Return the text of a post without useless invisible characters and control characters."""
    return _remove(text, _unwanted_rtl if _from_the_right.search(text) else _unwanted)


def remove_invisible_from_field(text: str) -> str:
    """Return the value of a field without useless invisible characters and without direction marks."""
    return _remove(text, _unwanted_in_fields)


def _remove(text: str, unwanted: regex.Pattern[str]) -> str:
    """Remove until nothing changes, because a removal can join characters into a new unwanted sequence."""
    while (found := unwanted.sub(r"\1", text)) != text:
        text = found
    return text
