"""Give support the audit log and carts, and analysts the figures of sales. Make the group of operators."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.roles import ADDED, ROLES, add_permissions, make_roles


def forwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Django makes permissions after the last migration; these are needed earlier."""
    for label in ("accounts", "shop"):
        create_permissions(installed.get_app_config(label), verbosity=0, apps=apps, using=schema_editor.connection.alias)
    for label, verbs in ROLES["operator"].items():
        make_permissions(apps, label, verbs.split())
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    make_roles(group, permission, ["operator"])
    add_permissions(group, permission, ADDED)


def make_permissions(apps: Any, label: str, verbs: Sequence[str]) -> None:
    """Make permissions for a model of an application on which no migration here may depend, so that it can be removed."""
    app, model = label.split(".")
    kind, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(app_label=app, model=model)
    name = installed.get_model(label)._meta.verbose_name_raw
    for verb in verbs:
        fields = {"content_type": kind, "codename": f"{verb}_{model}"}
        apps.get_model("auth", "Permission").objects.get_or_create(**fields, defaults={"name": f"Can {verb} {name}"})


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_audit_log"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("shop", "0021_figures_of_sales"),
        ("site", "0002_moderators"),
    ]

    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
