"""English numbers in digits and in words: a reader who types "Slaughterhouse 5" means "Slaughterhouse-Five"."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_UNITS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
)  # fmt: skip
_SUFFIXES: Final = {1: "st", 2: "nd", 3: "rd"}

Words = tuple[str, ...]


def _spell_below_hundred() -> Iterator[tuple[int, Words]]:
    for number, word in enumerate(_UNITS):
        yield number, (word,)
    for n, ten in enumerate(_TENS, start=2):
        yield n * 10, (ten,)
        for unit in range(1, 10):
            yield n * 10 + unit, (ten, _UNITS[unit])


def _spell_numbers() -> Iterator[tuple[str, Words]]:
    """Yield numbers in digits, each with its words. The first words of a number are the usual ones."""
    small = list(_spell_below_hundred())
    for number, words in small:
        yield str(number), words
    for number, words in small[1:]:
        yield f"{number}000", (*words, "thousand")
        if number < 10:
            yield f"{number}00", (*words, "hundred")
    yield "100", ("hundred",)
    yield "1000", ("thousand",)
    words_below_hundred = dict(small)
    for century in range(11, 21):  # the years of titles: "Nineteen Eighty-Four"
        for year, words in small[10:]:
            yield f"{century}{year}", words_below_hundred[century] + words
    for number, word in enumerate(_ORDINALS, start=1):
        yield f"{number}{_SUFFIXES.get(number, 'th')}", (word,)


_digits: Final[Mapping[Words, str]] = {words: digits for digits, words in _spell_numbers()}
_words: Final[dict[str, Words]] = {}
for _number, _spelling in _spell_numbers():
    _words.setdefault(_number, _spelling)  # the usual words come first
_MAX_WORDS: Final = max(map(len, _digits))  # words of a number


def respell_numbers(words: Sequence[str]) -> list[str]:
    """Return ``words`` with their numbers in digits, and with their numbers in words, as far as this changes them.

    >>> respell_numbers(["catch", "22"])
    ['catch twenty two']
    """
    in_words: list[str] = []
    for word in words:
        in_words += _words.get(word, (word,))
    return [" ".join(respelled) for respelled in (_replace_words(words), in_words) if respelled != list(words)]


def _replace_words(words: Sequence[str]) -> list[str]:
    """Return the words with the longest numbers replaced by digits."""
    found: list[str] = []
    position = 0
    while position < len(words):
        number = _find_longest_number(words[position : position + _MAX_WORDS])
        found.append(_digits[number] if number else words[position])
        position += len(number) or 1
    return found


def _find_longest_number(words: Sequence[str]) -> Words:
    """Return the words of the longest number at the start of ``words``, or no words."""
    for length in range(len(words), 0, -1):
        beginning = tuple(words[:length])
        if beginning in _digits:
            return beginning
    return ()
