from django.db import migrations, models

import mirror.indexes

PENDING = models.Q(("applied_at__isnull", True))


class Migration(migrations.Migration):
    dependencies = [
        ("mirror", "0003_backups"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="change", name="mirror_change_pending"),
        migrations.RemoveIndex(model_name="change", name="mirror_change_pending_key"),
        migrations.AddIndex(
            model_name="change",
            index=mirror.indexes.NarrowIndex(
                fields=["id"],
                condition=PENDING,
                narrowed_by=models.Q(("id__gt", 0)),
                name="mirror_change_in_order",
            ),
        ),
        migrations.AddIndex(
            model_name="change",
            index=mirror.indexes.NarrowIndex(
                fields=["mirror", "key", "created_at"],
                condition=PENDING,
                narrowed_by=models.Q(("mirror__gt", "")),
                name="mirror_change_by_key",
            ),
        ),
    ]
