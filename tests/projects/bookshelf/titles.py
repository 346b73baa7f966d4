"""The work of a page: read a title from Redis, or from SQL."""

import orjson

from mirror.read.reads import read
from tests.projects.bookshelf.models import Volume


def mirrored_title(pk: int) -> str | None:
    """Return the title in Redis, or None if it has none or SQL has to answer."""
    found = read(["volume"], lambda pipe: pipe.get(f"volume:{pk}"))
    return orjson.loads(found.replies[0])["title"] if found and found.replies[0] else None


def title(pk: int) -> str:
    """Return the title, from Redis if possible."""
    return mirrored_title(pk) or Volume.objects.get(pk=pk).title
