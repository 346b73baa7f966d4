"""No two users can claim one name; the last login is in LoginStats."""

from django.db import migrations

import accounts.names


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_fill")]
    operations = [
        migrations.RemoveField(model_name="user", name="last_login"),
        migrations.AlterField(
            model_name="user",
            name="name_key",
            field=accounts.names.FoldedField(
                editable=False, max_length=200, of="username", unique=True, verbose_name="name, folded"
            ),
        ),
    ]
