"""What may be posted: a text is cleaned of what only deceives, and counted as people count.

Characters are Unicode's extended grapheme clusters (UAX 29): a family of emoji or a letter with its accents is one.
"""

import unicodedata
from typing import Final

import regex
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MOST: Final = 500  # characters
MOST_POINTS: Final = 5000  # code points: room for characters that are put together of several
MOST_GIVEN: Final = 10_000  # code points that are looked at at all
POINTS: Final = 16  # of one character; what has more counts as several
MARKS: Final = 5  # on one letter; Hebrew and Tibetan have so many, and more is piled up for effect

# Scripts whose letters join, or refuse to, at a joiner's word.
_JOINING: Final = (
    r"\p{Arabic}\p{Syriac}\p{Nko}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}"
    r"\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Balinese}\p{Javanese}"
)
_EMOJI: Final = r"\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?"
# Characters that do not show, in the places where they say how others do.
_KEPT: Final = "|".join(
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
_NEVER: Final = r"[[\p{DI}\p{Cc}\p{Cs}\p{NChar}\uFFF9-\uFFFC]--[\n]]"
_unwanted = regex.compile(rf"({_KEPT})|{_NEVER}", regex.V1)
# Where letters run from right to left, a mark says on which side of them a full stop stands.
_unwanted_rtl = regex.compile(rf"({_KEPT}|[{_DIRECTION}](?![{_DIRECTION}]))|{_NEVER}", regex.V1)
_from_the_right = regex.compile(r"[\p{bc=R}\p{bc=AL}--\u200F]", regex.V1)
_line_ends = regex.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_ends_of_lines = regex.compile(r"[^\S\n]+(?=\n)")
_blank_lines = regex.compile(r"\n{4,}")
_piled_up = regex.compile(rf"([\p{{Mn}}\p{{Me}}]{{{MARKS}}})[\p{{Mn}}\p{{Me}}]+")
_visible = regex.compile(r"[^\s\p{DI}\u2800]")
_character = regex.compile(r"\X")


def clean(text: str) -> str:
    """``text`` as it is kept. Raises ValidationError: there is nothing in it, or too much."""
    if len(text) > MOST_GIVEN:
        raise too_long(len(text))
    text = _line_ends.sub("\n", text).replace("\t", " ")
    # Before as well: the time that normalising takes is the square of the marks on one letter.
    text = unicodedata.normalize("NFC", _piled_up.sub(r"\1", _shown(text)))
    text = _piled_up.sub(r"\1", text)
    text = _blank_lines.sub("\n\n\n", _ends_of_lines.sub("", text)).strip()
    if not _visible.search(text):
        raise ValidationError(_("There is nothing to read in it."), code="empty")
    if (count := length(text)) > MOST:
        raise too_long(count)
    if len(text) > MOST_POINTS:
        said = _("Its characters are put together of %(count)d parts; there is room for %(most)d.")
        raise ValidationError(said, code="too_long", params={"count": len(text), "most": MOST_POINTS})
    return text


def _shown(text: str) -> str:
    """Without what does not show and says nothing; what is taken away can bring together what stood apart."""
    while True:
        unwanted = _unwanted_rtl if _from_the_right.search(text) else _unwanted
        if (found := unwanted.sub(r"\1", text)) == text:
            return text
        text = found


def length(text: str) -> int:
    """How many characters people count in it. A character of very many parts is counted as several."""
    return sum(-(-len(found) // POINTS) for found in _character.findall(text))


def too_long(count: int) -> ValidationError:
    """The error of a text of so many characters."""
    said = _("That is %(count)d characters, and there is room for %(most)d: take %(over)d away.")
    return ValidationError(said, code="too_long", params={"count": count, "most": MOST, "over": count - MOST})
