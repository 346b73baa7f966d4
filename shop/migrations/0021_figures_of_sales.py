from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("shop", "0020_states_without_refunds")]

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
