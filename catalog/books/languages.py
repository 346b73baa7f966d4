"""Codes and names of the languages of books. Book lists use codes of two or three letters, or codes with a country."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from babel import Locale, UnknownLocaleError
from django.conf.locale import LANG_INFO
from django.utils.translation import get_language, get_language_info, to_locale

# ISO 639-2 (both its forms) to the codes that Django has names for.
CODES_BY_THREE_LETTERS: Final = {
    "ara": "ar", "chi": "zh-hans", "cze": "cs", "dan": "da", "dut": "nl", "eng": "en", "fin": "fi",
    "fra": "fr", "fre": "fr", "ger": "de", "deu": "de", "gre": "el", "heb": "he", "hin": "hi", "hun": "hu",
    "ind": "id", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nor": "nb", "per": "fa", "fas": "fa",
    "pol": "pl", "por": "pt", "ron": "ro", "rum": "ro", "rus": "ru", "spa": "es", "swe": "sv", "tur": "tr",
    "ukr": "uk", "vie": "vi", "zho": "zh-hans",
}  # fmt: skip


def normalise_code(code: str) -> str:
    """Return one code for all spellings of a language: "eng", "en-US" and "en" -> "en". Unknown codes are kept.

    >>> normalise_code("zho")
    'zh'
    """
    main = code.lower().partition("-")[0] if code.isascii() else code
    return CODES_BY_THREE_LETTERS.get(main, main).partition("-")[0]


def find_spellings(main: str) -> list[str]:
    """Return the codes, in lower case and without a country, that ``normalise_code`` maps to ``main``."""
    found = [three for three, short in CODES_BY_THREE_LETTERS.items() if short.partition("-")[0] == main]
    # A code of three letters is never the result of ``normalise_code`` if that has a shorter one.
    if main not in CODES_BY_THREE_LETTERS:
        found.append(main)
    return found


def get_language_name(code: str) -> str:
    """Return the name of a language, in the active language: "eng" and "en-US" -> "English". Unknown codes are kept."""
    lowered = code.lower()
    main = lowered.partition("-")[0]
    for candidate in (lowered, main, CODES_BY_THREE_LETTERS.get(main, "")):
        if candidate in LANG_INFO:
            return str(get_language_info(candidate)["name_translated"])
    return _load_names(get_language() or "en").get(main, code)


@lru_cache(maxsize=8)
def _load_names(active: str) -> Mapping[str, str]:
    """Return the names of all languages by code, in a language: also of "fil" (Filipino) and "mul" (several)."""
    try:
        return dict(Locale.parse(to_locale(active)).languages)
    except (UnknownLocaleError, ValueError):
        return {}
