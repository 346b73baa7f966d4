"""Give support the audit log and carts, and analysts the figures of sales. Make the group of operators."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.roles import ADDED, add_permissions, make_roles


def forwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Django makes permissions after the last migration; these are needed earlier."""
    for label in ("accounts", "mirror", "shop"):
        create_permissions(installed.get_app_config(label), verbosity=0, apps=apps, using=schema_editor.connection.alias)
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    make_roles(group, permission, ["operator"])
    add_permissions(group, permission, ADDED)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_audit_log"),
        ("mirror", "0012_no_backups"),
        ("shop", "0021_figures_of_sales"),
        ("site", "0002_moderators"),
    ]

    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
