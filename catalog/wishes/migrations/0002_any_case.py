"""Titles that differ in their case alone are one wish of a reader: the older one is kept."""

import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models
from django.db.models import Exists, OuterRef
from django.db.models.functions import Lower


def remove_repetitions(apps, schema_editor):
    wishes = apps.get_model("wishes", "BookWish").objects.using(schema_editor.connection.alias)
    titled = wishes.alias(folded=Lower("title"))
    older = titled.filter(user_id=OuterRef("user_id"), folded=Lower(OuterRef("title")), pk__lt=OuterRef("pk"))
    wishes.filter(pk__in=list(wishes.filter(Exists(older)).values_list("pk", flat=True))).delete()


class Migration(migrations.Migration):

    dependencies = [
        ("wishes", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(remove_repetitions, migrations.RunPython.noop, elidable=True),
        migrations.RemoveConstraint(model_name="bookwish", name="wishes_once"),
        migrations.AddConstraint(
            model_name="bookwish",
            constraint=models.UniqueConstraint(
                models.F("user"), django.db.models.functions.text.Lower("title"), name="wishes_once_any_case"
            ),
        ),
        migrations.AddIndex(
            model_name="bookwish",
            index=models.Index(django.db.models.functions.text.Lower("title"), name="wishes_by_title"),
        ),
    ]
