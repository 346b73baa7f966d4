"""Make the first groups of ``config.roles``."""

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.roles import ROLES, make_roles

NAMES = ("support", "shop", "catalogue", "analyst")  # later ones have migrations of their own
LABELS = sorted({label.split(".")[0] for name in NAMES for label in ROLES[name]})


def forwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Django makes permissions after the last migration; these are needed earlier."""
    for label in LABELS:
        create_permissions(installed.get_app_config(label), verbosity=0, apps=apps, using=schema_editor.connection.alias)
    make_roles(apps.get_model("auth", "Group"), apps.get_model("auth", "Permission"), NAMES)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_fill_name_skeleton"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("catalog", "0001_initial"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("loginlog", "0003_report_permission"),
        ("shop", "0008_plainer_words"),
        ("social", "0001_initial"),
    ]

    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
