"""Codes and names of the languages of books. Book lists use codes of two or three letters, or codes with a country."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, get_language_info, to_locale
from django.utils.translation import gettext_lazy as _

# ISO 639-2 (both its forms) to the codes that Django has names for.
CODES_BY_THREE_LETTERS: Final = {
    "ara": "ar", "chi": "zh-hans", "cze": "cs", "dan": "da", "dut": "nl", "eng": "en", "fin": "fi",
    "fra": "fr", "fre": "fr", "ger": "de", "deu": "de", "gre": "el", "heb": "he", "hin": "hi", "hun": "hu",
    "ind": "id", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nor": "nb", "per": "fa", "fas": "fa",
    "pol": "pl", "por": "pt", "ron": "ro", "rum": "ro", "rus": "ru", "spa": "es", "swe": "sv", "tur": "tr",
    "ukr": "uk", "vie": "vi", "zho": "zh-hans",
}  # fmt: skip

# Django has no translations of these names.
UNTRANSLATED_CODES: Final = frozenset({"nb", "no"})

_form = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
MAX_SHOWN_LENGTH: Final = 40  # characters of a wrong code in its message


def is_known_code(code: str) -> bool:
    """Return whether ``code`` has the form of a language code and begins with that of a language.

    >>> is_known_code("ger"), is_known_code("zh-Hans"), is_known_code("German")
    (True, True, False)
    """
    main = code.lower().partition("-")[0]
    return bool(_form.fullmatch(code)) and (
        main in CODES_BY_THREE_LETTERS or main in _load_names("en") or main in get_global("language_aliases")
    )


def validate_language(code: str) -> None:
    """Raise ValidationError for a text that is no language code. Otherwise it would become a filter of all visitors."""
    if not is_known_code(code):
        raise ValidationError(
            _("“%(code)s” is not a known language code. Enter a code such as en, ger or zh-Hans."),
            code="language",
            params={"code": code[:MAX_SHOWN_LENGTH]},
        )


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
    names = _load_names(get_language() or "en")
    for candidate in (lowered, main, CODES_BY_THREE_LETTERS.get(main, "")):
        if candidate in UNTRANSLATED_CODES and candidate in names:
            return names[candidate]
        if candidate in LANG_INFO:
            return str(get_language_info(candidate)["name_translated"])
    # "lat" is an alias of "la" (Latin).
    return names.get(main) or names.get(get_global("language_aliases").get(main, ""), code)


@lru_cache(maxsize=8)
def _load_names(active: str) -> Mapping[str, str]:
    """Return the names of all languages by code, in a language: also of "fil" (Filipino) and "mul" (several)."""
    try:
        return dict(Locale.parse(to_locale(active)).languages)
    except (UnknownLocaleError, ValueError):
        return {}
