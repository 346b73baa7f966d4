"""The number of a view's entry in the stream becomes its id. Older views keep theirs."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('shop', '0014_stock_alerts'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='view',
            name='shop_view_of_entry',
        ),
        migrations.RemoveField(
            model_name='view',
            name='entry',
        ),
    ]
