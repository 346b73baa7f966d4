from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from catalog.names import is_hidden_name

SLICE = 1000  # rows a statement


def hide_shelves(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Hide the tags that are there and have names of shelves."""
    tags = apps.get_model("catalog", "Tag").objects.using(schema_editor.connection.alias)
    names = tags.values_list("pk", "name").iterator(chunk_size=SLICE)
    found: Iterator[int] = iter([pk for pk, name in names if is_hidden_name(name)])
    while pks := list(islice(found, SLICE)):
        tags.filter(pk__in=pks).update(hidden=True)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_tag_counts_aliases_votes")]

    operations = [migrations.RunPython(hide_shelves, migrations.RunPython.noop)]
