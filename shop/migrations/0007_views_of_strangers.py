from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("shop", "0006_open_payments"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="view",
            index=models.Index(condition=models.Q(("user", None)), fields=["seen_at"], name="shop_view_of_strangers"),
        ),
    ]
