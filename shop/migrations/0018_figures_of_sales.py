from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("shop", "0017_delivery")]

    operations = [
        migrations.AlterModelOptions(
            name="order",
            options={
                "permissions": [("view_figures", "Can view the figures of sales")],
                "verbose_name": "order",
                "verbose_name_plural": "orders",
            },
        ),
    ]
