"""Find a tag by a typed name, and the names to choose from."""

from typing import Final

from django.db.models import Count

from catalog.models import Book, Tag, TagAlias, Tagging
from catalog.search.selectors import search

MAX_BOOKS: Final = 300  # most read books whose tags are offered
MAX_NAMES: Final = 200


def find_tag_named(typed: str) -> Tag | None:
    """Return the tag with a name or an alias, in any case."""
    tag: Tag | None = Tag.objects.filter(name=typed).first()
    alias = None if tag else TagAlias.objects.filter(name=typed).select_related("tag").first()
    return alias.tag if alias else tag


def suggest_tag_names(typed: str) -> list[str]:
    """Return the names of tags that resemble a typed name."""
    return [tag.name for tag in search(typed, kinds="t").tags]


def list_frequent_tags() -> list[str]:
    """Return the names of the shown tags that most of the most read books have, the most frequent first. 1 query."""
    books = Book.objects.order_by("-popularity", "pk").values("pk")[:MAX_BOOKS]
    found = Tagging.objects.filter(book__in=books, tag__hidden=False).order_by().values("tag__name")
    return list(
        found.annotate(n=Count("pk")).order_by("-n", "tag__name").values_list("tag__name", flat=True)[:MAX_NAMES]
    )
