"""Names of tags as pages show them. Addresses, queries and JSON have the stored names."""

import re
from typing import Final

from django.utils.translation import pgettext_lazy

_HYPHEN: Final = re.compile(r"(?<=\w)-(?=[^\W\d])")  # "science-fiction", but not "catch-22"
_HYPHENATED: Final = frozenset({"non-fiction", "self-help", "sci-fi"})
# The labels with translations.
FREQUENT: Final = {
    "audiobook": pgettext_lazy("tag", "audiobook"),
    "award winner": pgettext_lazy("tag", "award winner"),
    "biography": pgettext_lazy("tag", "biography"),
    "book club": pgettext_lazy("tag", "book club"),
    "children": pgettext_lazy("tag", "children"),
    "classics": pgettext_lazy("tag", "classics"),
    "computers": pgettext_lazy("tag", "computers"),
    "cooking": pgettext_lazy("tag", "cooking"),
    "crime": pgettext_lazy("tag", "crime"),
    "debut": pgettext_lazy("tag", "debut"),
    "detective": pgettext_lazy("tag", "detective"),
    "epic": pgettext_lazy("tag", "epic"),
    "essays": pgettext_lazy("tag", "essays"),
    "family": pgettext_lazy("tag", "family"),
    "fantasy": pgettext_lazy("tag", "fantasy"),
    "favorites": pgettext_lazy("tag", "favorites"),
    "fiction": pgettext_lazy("tag", "fiction"),
    "historical fiction": pgettext_lazy("tag", "historical fiction"),
    "history": pgettext_lazy("tag", "history"),
    "horror": pgettext_lazy("tag", "horror"),
    "humor": pgettext_lazy("tag", "humor"),
    "illustrated": pgettext_lazy("tag", "illustrated"),
    "mystery": pgettext_lazy("tag", "mystery"),
    "nature": pgettext_lazy("tag", "nature"),
    "non-fiction": pgettext_lazy("tag", "non-fiction"),
    "owned": pgettext_lazy("tag", "owned"),
    "poetry": pgettext_lazy("tag", "poetry"),
    "programming": pgettext_lazy("tag", "programming"),
    "robots": pgettext_lazy("tag", "robots"),
    "romance": pgettext_lazy("tag", "romance"),
    "science": pgettext_lazy("tag", "science"),
    "science fiction": pgettext_lazy("tag", "science fiction"),
    "series": pgettext_lazy("tag", "series"),
    "short stories": pgettext_lazy("tag", "short stories"),
    "small town": pgettext_lazy("tag", "small town"),
    "thriller": pgettext_lazy("tag", "thriller"),
    "to read": pgettext_lazy("tag", "to read"),
    "translated": pgettext_lazy("tag", "translated"),
    "travel": pgettext_lazy("tag", "travel"),
    "war": pgettext_lazy("tag", "war"),
    "young adult": pgettext_lazy("tag", "young adult"),
}


def get_tag_label(name: str) -> str:
    """Return a tag's name with blanks instead of hyphens, or its translation: "science-fiction" -> "科幻"."""
    label = name if name in _HYPHENATED else _HYPHEN.sub(" ", name)
    return str(FREQUENT.get(label, label))
