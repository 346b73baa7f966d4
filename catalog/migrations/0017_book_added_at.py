import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0016_covers_and_photos'),
    ]

    operations = [
        # Present books get the time of this migration, so to followers of their authors none of them is new.
        # PostgreSQL evaluates the time once, and rewrites no row.
        migrations.AddField(
            model_name='book',
            name='added_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='added'),
        ),
    ]
