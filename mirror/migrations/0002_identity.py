"""Create the identity of the database in advance.

If its first use created it in a transaction that is rolled back, SQL would lose it while the process keeps it.
"""

from django.db import migrations


def make(apps, schema_editor):
    """Create the single row."""
    apps.get_model("mirror", "Identity").objects.using(schema_editor.connection.alias).get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("mirror", "0001_initial")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop, elidable=False)]
