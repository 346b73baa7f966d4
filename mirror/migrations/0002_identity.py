"""The database says who it is from the start: made later, in a transaction that is rolled back, it would be forgotten
by the database and remembered by the process.
"""

from django.db import migrations


def make(apps, schema_editor):
    """The one row."""
    apps.get_model("mirror", "Identity").objects.using(schema_editor.connection.alias).get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("mirror", "0001_initial")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop, elidable=False)]
