"""Make the group of moderators."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.roles import make_roles


def forwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Django makes permissions after the last migration; these are needed earlier."""
    for label in ("accounts", "moderation", "social"):
        create_permissions(installed.get_app_config(label), verbosity=0, apps=apps, using=schema_editor.connection.alias)
    make_roles(apps.get_model("auth", "Group"), apps.get_model("auth", "Permission"), ["moderator"])


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_suspension"),
        ("moderation", "0001_initial"),
        ("site", "0001_roles"),
        ("social", "0001_initial"),
    ]

    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
