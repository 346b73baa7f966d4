from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('mirror', '0005_quarantined'),
    ]

    operations = [
        migrations.AddField(
            model_name='identity',
            name='triggers',
            field=models.JSONField(null=True, verbose_name='triggers'),
        ),
    ]
