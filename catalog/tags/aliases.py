"""Aliases of tags. Imports and readers may write an alias instead of the tag's own name.

The shipped aliases become rows when an import or a vote meets them: a migration would add their tags to catalogues
without them.
"""

from collections.abc import Collection, Sequence

from django.conf import settings
from django.db import transaction

from catalog.models import Tag, TagAlias, Tagging
from catalog.names import normalise
from catalog.tags.bulk import get_or_create_ids
from catalog.tags.services import merge_tags
from common.database import repeat_after_conflict
from mirror.utils import SQL_AWAY


def resolve_aliases(names: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return the tag name that each normalised name stands for, and the number of tags that were added.

    Aliases of ``settings.CATALOG_TAG_ALIASES`` that occur in ``names`` and are missing in the table are added to it.
    """
    known, new = _read_aliases(names)
    added = _add_aliases(new) if new else 0
    return {name: name for name in names} | known | new, added


def find_meant(names: Collection[str]) -> dict[str, str]:
    """Return the tag names that the aliases among these normalised names stand for. Nothing is written."""
    known, new = _read_aliases(names)
    return known | new


def find_used(names: Collection[str]) -> dict[str, str]:
    """Return the tags of books that the aliases among these normalised names stand for.

    At most 2 queries. None is found while SQL is away.
    """
    try:
        meant = find_meant(names)
        # Without a book the list of the tag would be as empty, and two aliases could point at each other.
        links = Tagging._base_manager.filter(tag__name__in=meant.values())
        used = set(links.values_list("tag__name", flat=True).distinct()) if meant else set()
    except SQL_AWAY:
        return {}
    return {name: tag for name, tag in meant.items() if tag in used}


def _read_aliases(names: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the meanings of aliases by name: those of the table, and the shipped ones that it lacks."""
    shipped = {normalise(name): normalise(tag) for name, tag in settings.CATALOG_TAG_ALIASES.items()}
    # Staff may have merged the tag of a shipped alias into the tag with the alias's name.
    rows = TagAlias.objects.filter(name__in={*names, *map(shipped.get, names)})
    meanings = dict(rows.values_list("name", "tag__name"))
    known: dict[str, str] = {}
    new: dict[str, str] = {}
    for name in names:
        if name in meanings:
            known[name] = meanings[name]
        elif name in shipped and shipped[name] not in meanings:
            new[name] = shipped[name]
    return known, new


@repeat_after_conflict
def _add_aliases(meant: dict[str, str]) -> int:
    with transaction.atomic():
        targets, added = get_or_create_ids(Tag, list(dict.fromkeys(meant.values())))
        rows = [TagAlias(name=name, tag_id=targets[tag]) for name, tag in meant.items()]
        # Another import may have added the same alias since it was read.
        TagAlias.objects.bulk_create(rows, ignore_conflicts=True)
        # A tag with the name of an alias existed before the alias, for example from an earlier import.
        for tag in Tag.objects.filter(name__in=meant):
            merge_into_target(tag.name)
    return added


@repeat_after_conflict
def save_alias(alias: TagAlias) -> int | None:
    """Save an alias. A tag of that name is merged into the tag that the alias stands for.

    Return the number of books of the merged tag; None: no tag had that name.
    """
    with transaction.atomic():
        alias.save()
        books = Tagging._base_manager.filter(tag__name=alias.name).count()
        return books if merge_into_target(alias.name) else None


def merge_into_target(name: str) -> bool:
    """Merge the tag called ``name`` into the tag that the alias ``name`` stands for. Return whether both exist."""
    target = Tag.objects.filter(aliases__name=name).first()
    return target is not None and merge_tags(Tag.objects.filter(name=name), target) > 0
