from django.db import migrations


class Migration(migrations.Migration):
    """Redis has no data first any more. Apps take over what their backups still had in migrations of their own."""

    dependencies = [("mirror", "0011_whole")]

    operations = [migrations.DeleteModel("BackupState")]
