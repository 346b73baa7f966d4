from django.db import migrations

# The tables of django-axes, which always were empty; the one that refers to another goes first.
TABLES = ["axes_accessattemptexpiration", "axes_accessattempt", "axes_accessfailurelog", "axes_accesslog"]


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0013_audit_log'),
    ]

    operations = [
        migrations.RunSQL(f"DROP TABLE IF EXISTS {table}", migrations.RunSQL.noop) for table in TABLES
    ] + [
        migrations.RunSQL("DELETE FROM django_migrations WHERE app = 'axes'", migrations.RunSQL.noop),
    ]
