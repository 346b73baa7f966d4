"""The names of sales. Staff choose them in one language; the usual ones are shown in the reader's."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import regex
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import get_language, pgettext_lazy

_KNOWN: Final[Mapping[str, Promise]] = {
    "This week’s finds": pgettext_lazy("the name of a sale", "This week’s finds"),
}
_chinese_letters: Final = regex.compile(r"\p{Han}")


class SaleName(NamedTuple):
    """The name of a sale. language: its code if it is not that of the page, otherwise ""."""

    text: str
    language: str


def name_sale(name: str) -> SaleName:
    """Return the name of a sale in the current language if it is a usual one, and as it is otherwise."""
    if name in _KNOWN:
        return SaleName(str(_KNOWN[name]), "")
    language = "zh-hans" if _chinese_letters.search(name) else settings.LANGUAGE_CODE
    return SaleName(name, "" if language == get_language() else language)
