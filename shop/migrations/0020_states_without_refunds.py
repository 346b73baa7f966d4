from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('shop', '0019_fill_refunds'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='fakecharge',
            name='refunded_at',
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['started', 'succeeded', 'surplus', 'failed'])), name='shop_payment_state'),
        ),
    ]
