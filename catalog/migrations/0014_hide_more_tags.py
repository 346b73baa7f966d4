from typing import Any

import regex
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from catalog.names import is_hidden_name

SLICE = 1000  # rows a statement
# The patterns that CATALOG_HIDDEN_TAGS has got since 0005. Staff have shown other tags that the setting matches.
ADDED = regex.compile(
    "(?:all-time-|shelfari-)?(?:favou?rites?|faves?)(?:-.*)?|recommended|re-?reads?"
    "|audio|adults?|english|read-in-english|books?|novels?|stand-?alones?|series"
    "|book-?(?:club|group)s?(?:-.*)?|(?:for-|read-for-)?school(?:-books?)?|college"
)


def hide_tags(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Hide the tags with these names, except those about which staff have decided."""
    alias = schema_editor.connection.alias
    tags = apps.get_model("catalog", "Tag").objects.using(alias).filter(hidden=False)
    found = {pk for pk, name in tags.values_list("pk", "name").iterator(chunk_size=SLICE) if _is_noise(name)}
    entries = apps.get_model("admin", "LogEntry").objects.using(alias)
    decided = entries.filter(
        content_type__app_label="catalog", content_type__model="tag", change_message__contains='"Hidden"'
    )
    found -= {int(pk) for pk in decided.values_list("object_id", flat=True) if pk and pk.isdecimal()}
    ids = sorted(found)
    for start in range(0, len(ids), SLICE):
        tags.filter(pk__in=ids[start : start + SLICE]).update(hidden=True)


def _is_noise(name: str) -> bool:
    # A site with patterns of its own keeps to them.
    return ADDED.fullmatch(name) is not None and is_hidden_name(name)


class Migration(migrations.Migration):
    dependencies = [("admin", "0003_logentry_add_action_flag_choices"), ("catalog", "0013_readings")]

    operations = [migrations.RunPython(hide_tags, migrations.RunPython.noop)]
