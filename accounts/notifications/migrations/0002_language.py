"""Emails are in the language that the user chose last, instead of that of the page with their settings."""

from typing import Any

from django.db import migrations


def copy_languages(apps: Any, editor: Any) -> None:
    """Copy the languages of emails to the users."""
    alias = editor.connection.alias
    users = apps.get_model("accounts", "User")._default_manager.using(alias)
    mailings = apps.get_model("notifications", "Mailing")._default_manager.using(alias)
    for user_id, language in mailings.exclude(language="").values_list("user_id", "language").iterator():
        users.filter(pk=user_id, language="").update(language=language)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0027_language"), ("notifications", "0001_initial")]

    operations = [
        migrations.RunPython(copy_languages, migrations.RunPython.noop),
        migrations.RemoveField(model_name="mailing", name="language"),
    ]
