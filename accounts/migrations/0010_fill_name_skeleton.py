"""What the names of users that were there before have in common with names that look like them."""

from typing import Any, Final

from django.db import migrations

from accounts.lookalikes import skeleton

BATCH: Final = 2000


def fill(apps: Any, schema_editor: Any) -> None:
    """Fill the column in slices by id."""
    users = apps.get_model("accounts", "User").objects.using(schema_editor.connection.alias)
    last = 0
    while people := list(users.filter(pk__gt=last).order_by("pk").only("username", "name_skeleton")[:BATCH]):
        for user in people:
            user.name_skeleton = skeleton(user.username)
        users.bulk_update(people, ["name_skeleton"])
        last = people[-1].pk


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_name_skeleton")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
