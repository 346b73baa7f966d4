"""Spaces, marks and numbers in Chinese texts.

Spaces: one beside Latin letters, and none between Chinese characters or after full-width marks.
"""

import re
from typing import Final

from django.utils.safestring import mark_safe
from django.utils.translation import get_language

_WIDE: Final = "\u3000-\u9fff\uff00-\uffef"
_GAP: Final = re.compile(rf"([{_WIDE}](?:</\w+>)*) (?=(?:<\w[^>]*>)*[{_WIDE}])")


def close_gaps(text: str) -> str:
    """Return a Chinese sentence without the space that stands beside a name, if that name is Chinese, too.

    Elements may surround the name: HTML stays HTML.
    """
    found = _GAP.sub(r"\1", text)
    return mark_safe(found) if hasattr(text, "__html__") else found


def gap() -> str:
    """Return what stands between two sentences: a space, or nothing, as full-width marks contain theirs."""
    return "" if _is_chinese() else " "


def count_rest(total: int) -> int:
    """Return the number behind the first of ``total`` names: of the others, in Chinese of all ("X等 2 本")."""
    return total if _is_chinese() else total - 1


def colon() -> str:
    """Return what stands between a name and its value."""
    return "：" if _is_chinese() else ": "


def comma() -> str:
    """Return what stands between two parts of a sentence."""
    return "，" if _is_chinese() else ", "


def names_comma() -> str:
    """Return what stands between two names."""
    return "、" if _is_chinese() else ", "


def _is_chinese() -> bool:
    return (get_language() or "").startswith("zh")
