"""What the new columns and tables say of users that were there before."""

from typing import Any

from django.db import migrations

from accounts.models import new_secret
from common.text import fold


def fill(apps: Any, schema_editor: Any) -> None:
    """Fold names, give everybody a secret of their own, and carry the last login over as one login."""
    user_model, stats_model = apps.get_model("accounts", "User"), apps.get_model("accounts", "LoginStats")
    using = schema_editor.connection.alias
    for user in user_model.objects.using(using).iterator():
        fields = {"name_key": fold(user.username), "session_secret": new_secret()}
        user_model.objects.using(using).filter(pk=user.pk).update(**fields)
        if user.last_login:
            stats_model.objects.using(using).create(user_id=user.pk, login_times=1, last_login_time=user.last_login)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_accounts_and_sessions")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
