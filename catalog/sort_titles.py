"""The text that titles are sorted by. SQL computes it, so that every way of writing a title keeps it current."""

from typing import Final

from django.conf import settings
from django.db.models import Case, CharField, Func, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Left, Lower, NullIf, Substr
from django.db.models.lookups import Exact

# Leading characters that do not count: blanks, quotation marks, brackets and what else a title may open with.
PUNCTUATION: Final = " \t\"'`´‘’‚‛“”„‟«»‹›()[]{}<>《》〈〉「」『』【】¡!¿?.,:;…·•*#&@~^_-‐‑‒–—/\\|"


def sort_title() -> Coalesce:
    """Return the expression: the title in small letters, without leading punctuation and one leading article.

    The articles are those of ``settings.CATALOG_ARTICLES``. A title of nothing else stays as it is.
    """
    title = Lower("title")
    bare = _without_punctuation(title)
    cases = [
        When(Exact(Left(bare, len(start)), Value(start)), then=_without_punctuation(Substr(bare, len(start) + 1)))
        for start in map(_start_of, settings.CATALOG_ARTICLES)
    ]
    return Coalesce(NullIf(Case(*cases, default=bare), Value("")), title)


def _without_punctuation(text: Combinable) -> Func:
    return Func(text, Value(PUNCTUATION), function="LTRIM", output_field=CharField())


def _start_of(article: str) -> str:
    """Return how a title with this article begins: "the" needs a blank after it, "l'" none."""
    lowered = article.lower()
    return f"{lowered} " if lowered[-1:].isalnum() else lowered
