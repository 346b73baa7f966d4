"""Find an author by a typed name, in any spelling of its letters."""

from catalog.models import Author, AuthorAlias
from catalog.search.selectors import search
from common.text import fold


def find_authors_named(typed: str) -> list[Author]:
    """Return the authors that a name may mean: one if it is clear, several if only their case differs, or none.

    The names of authors who were merged into others mean the others.
    """
    author: Author | None = Author.objects.filter(name=typed).first()
    if author is None and (alias := AuthorAlias.objects.filter(name=typed).select_related("author").first()):
        author = alias.author
    if author is not None:
        return [author]
    # The databases ignore the case of ASCII letters alone, or in their own way. Search folds all letters, but may be
    # behind by some moments.
    found = set(Author.objects.filter(name__iexact=typed).values_list("pk", flat=True))
    found.update(AuthorAlias.objects.filter(name__iexact=typed).values_list("author_id", flat=True))
    for result in search(typed, kinds="a").authors:
        if fold(typed) in map(fold, (result.name, *result.others)):
            found.add(result.id)
    return list(Author.objects.filter(pk__in=found).order_by("name"))


def suggest_author_names(typed: str) -> list[str]:
    """Return the names of authors that resemble a typed name."""
    return [author.name for author in search(typed, kinds="a").authors]
