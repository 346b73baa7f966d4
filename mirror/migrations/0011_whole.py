from django.db import migrations


class Migration(migrations.Migration):
    """Rename the key of changes of everything, because a row may have the key "*"."""

    dependencies = [
        ('mirror', '0010_prefix'),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE mirror_change SET key = '\1everything' WHERE key = '*' AND source = ''",
            "UPDATE mirror_change SET key = '*' WHERE key = '\1everything' AND source = ''",
        ),
    ]
