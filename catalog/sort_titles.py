"""The text by which titles are sorted. SQL computes it, so that every write of a title keeps it current."""

from typing import Final

from django.conf import settings
from django.db.models import Case, CharField, Func, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Left, Lower, NullIf, Substr
from django.db.models.lookups import Exact

# Ignored at the start of a title: blanks, quotation marks, brackets and other punctuation.
PUNCTUATION: Final = " \t\"'`´‘’‚‛“”„‟«»‹›()[]{}<>《》〈〉「」『』【】¡!¿?.,:;…·•*#&@~^_-‐‑‒–—/\\|"


def sort_title() -> Coalesce:
    """Return the expression for the title in lower case without leading punctuation and without one leading article.

    The articles are those of ``settings.CATALOG_ARTICLES``. A title that would become empty is not shortened.
    """
    title = Lower("title")
    bare = _strip_punctuation(title)
    cases = [
        When(Exact(Left(bare, len(start)), Value(start)), then=_strip_punctuation(Substr(bare, len(start) + 1)))
        for start in map(_get_article_prefix, settings.CATALOG_ARTICLES)
    ]
    return Coalesce(NullIf(Case(*cases, default=bare), Value("")), title)


def _strip_punctuation(text: Combinable) -> Func:
    return Func(text, Value(PUNCTUATION), function="LTRIM", output_field=CharField())


def _get_article_prefix(article: str) -> str:
    """Return the beginning of titles with this article: "the" needs a blank after it, "l'" does not."""
    lowered = article.lower()
    return f"{lowered} " if lowered[-1:].isalnum() else lowered
