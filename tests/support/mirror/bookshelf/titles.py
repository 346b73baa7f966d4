"""What a page of it would do: read a title from Redis, or from SQL."""

import orjson

from mirror.read import read
from tests.support.mirror.bookshelf.models import Volume


def mirrored_title(pk: int) -> str | None:
    """The title that Redis has; None: it has none, or SQL has to be asked."""
    found = read(["volume"], lambda pipe: pipe.get(f"volume:{pk}"))
    return orjson.loads(found.replies[0])["title"] if found and found.replies[0] else None


def title(pk: int) -> str:
    """The title, from Redis first."""
    return mirrored_title(pk) or Volume.objects.get(pk=pk).title
