"""The names of hashtags in the form of ``common.text.fold``, which treats the Turkish letters i as one."""

from typing import Any, Final

from django.db import migrations

from common.text import fold

BATCH: Final = 2000


def fold_again(apps: Any, schema_editor: Any) -> None:
    """Fold the hashtags of posts. A post that has a hashtag in two spellings keeps one row for it."""
    hashtags = apps.get_model("social", "Hashtag").objects.using(schema_editor.connection.alias)
    last = 0
    while some := list(hashtags.filter(pk__gt=last).order_by("pk")[:BATCH]):
        for hashtag in some:
            name = fold(hashtag.name)
            if name == hashtag.name:
                continue
            if hashtags.filter(post=hashtag.post_id, name=name).exists():
                hashtags.filter(pk=hashtag.pk).delete()
            else:
                hashtags.filter(pk=hashtag.pk).update(name=name)
        last = some[-1].pk


class Migration(migrations.Migration):
    dependencies = [("social", "0002_plain_labels")]
    operations = [migrations.RunPython(fold_again, migrations.RunPython.noop, elidable=True)]
