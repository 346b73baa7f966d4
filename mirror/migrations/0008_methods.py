from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('mirror', '0007_layout'),
    ]

    operations = [
        migrations.AddField(
            model_name='state',
            name='methods',
            field=models.CharField(db_default='', max_length=64, verbose_name='methods'),
        ),
    ]
