import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0020_visits")]

    operations = [
        migrations.CreateModel(
            name="Suspension",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="suspension",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
                ("began_at", models.DateTimeField(verbose_name="since")),
                ("ends_at", models.DateTimeField(db_index=True, verbose_name="until")),
                ("notice", models.CharField(blank=True, max_length=200, verbose_name="reasons")),
            ],
            options={"verbose_name": "suspension", "verbose_name_plural": "suspensions"},
        ),
    ]
