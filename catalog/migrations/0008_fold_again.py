"""The names of tags in the form of ``common.text.fold``, which treats the Turkish letters i as one."""

from typing import Any, Final

from django.db import migrations
from django.db.models import Exists, OuterRef

from catalog.names import normalise

BATCH: Final = 2000
_MOVE_TAGGINGS: Final = """
    INSERT INTO catalog_book_tags (book_id, tag_id, imported_count)
    SELECT book_id, %s, imported_count FROM catalog_book_tags WHERE tag_id = %s
    ON CONFLICT (book_id, tag_id) DO UPDATE
    SET imported_count = catalog_book_tags.imported_count + excluded.imported_count
"""


def fold_again(apps: Any, schema_editor: Any) -> None:
    """Fold the names of tags and aliases. Tags that become one are merged: counts are added up, votes are kept."""
    for name in ("Tag", "TagAlias"):
        rows = apps.get_model("catalog", name).objects.using(schema_editor.connection.alias)
        last = 0
        while some := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", "name")[:BATCH]):
            for pk, old in some:
                if normalise(old) not in ("", old):
                    _rename(apps, schema_editor, name, pk, old)
            last = some[-1][0]


def _rename(apps: Any, schema_editor: Any, model: str, pk: int, old: str) -> None:
    using = schema_editor.connection.alias
    tags, aliases = (apps.get_model("catalog", name).objects.using(using) for name in ("Tag", "TagAlias"))
    rows = tags if model == "Tag" else aliases
    # The field folds what it is given, so the old name as written finds a row with the new one.
    same = rows.filter(name=old).exclude(pk=pk).first()
    if same is None:
        rows.filter(pk=pk).update(name=old)
    elif model == "Tag":
        _merge(apps, schema_editor, pk, same.pk)
    else:
        rows.filter(pk=pk).delete()
    alias = aliases.filter(name=old).first()
    tag = tags.filter(name=old).first()
    if alias is not None and tag is not None and tag.pk != alias.tag_id:
        _merge(apps, schema_editor, tag.pk, alias.tag_id)


def _merge(apps: Any, schema_editor: Any, tag: int, into: int) -> None:
    """Do what ``catalog.tags.services.merge_tags`` does, with the columns of this migration's time."""
    using = schema_editor.connection.alias
    tags, aliases, taggings, all_votes = (
        apps.get_model("catalog", name).objects.using(using) for name in ("Tag", "TagAlias", "Tagging", "TagVote")
    )
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_MOVE_TAGGINGS, [into, tag])
    votes = all_votes.filter(tag_id=tag)
    votes.exclude(Exists(all_votes.filter(tag_id=into, user=OuterRef("user"), book=OuterRef("book")))).update(tag_id=into)
    votes.delete()
    taggings.filter(tag_id=tag).delete()
    aliases.filter(tag_id=tag).update(tag_id=into)
    tags.filter(pk=tag).delete()


class Migration(migrations.Migration):
    dependencies = [("catalog", "0007_plain_labels")]
    operations = [migrations.RunPython(fold_again, migrations.RunPython.noop, elidable=True)]
