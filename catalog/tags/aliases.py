"""Aliases of tags. Imports and readers may write an alias instead of the tag's own name.

The shipped aliases become rows when an import or a vote meets them: a migration would add their tags to catalogues
without them.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction

from catalog.models import Tag, TagAlias
from catalog.names import normalise
from catalog.tags.bulk import get_or_create_ids
from catalog.tags.services import merge_tags
from common.database import repeat_after_conflict


def resolve_aliases(names: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return the tag name that each normalised name stands for, and the number of tags that were added.

    Aliases of ``settings.CATALOG_TAG_ALIASES`` that occur in ``names`` and are missing in the table are added to it.
    """
    known = dict(TagAlias.objects.filter(name__in=names).values_list("name", "tag__name"))
    shipped = {normalise(name): normalise(tag) for name, tag in settings.CATALOG_TAG_ALIASES.items()}
    new = {name: shipped[name] for name in names if name in shipped and name not in known}
    added = _add_aliases(new) if new else 0
    meant = {name: name for name in names}
    meant.update(known)
    meant.update(new)
    return meant, added


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
def save_alias(alias: TagAlias) -> None:
    """Save an alias. A tag of that name is merged into the tag that the alias stands for."""
    with transaction.atomic():
        alias.save()
        merge_into_target(alias.name)


def merge_into_target(name: str) -> None:
    """Merge the tag called ``name``, if it exists, into the tag that the alias ``name`` stands for."""
    target = Tag.objects.filter(aliases__name=name).first()
    if target is not None:
        merge_tags(Tag.objects.filter(name=name), target)
