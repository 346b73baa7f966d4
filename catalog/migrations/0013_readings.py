import datetime
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The shelf of unfinished books, earlier readings, progress, and numbers of pages."""

    dependencies = [
        ("catalog", "0012_half_stars"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="book",
            name="pages",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(50000),
                ],
                verbose_name="pages",
            ),
        ),
        # A generated column cannot be altered, and PostgreSQL refuses to alter a column that it depends on.
        migrations.RemoveIndex(model_name="shelfentry", name="catalog_shelf_newest"),
        migrations.RemoveField(model_name="shelfentry", name="sort_on"),
        migrations.AlterField(
            model_name="shelfentry",
            name="shelf",
            field=models.CharField(
                choices=[
                    ("want-to-read", "Want to read"),
                    ("reading", "Reading"),
                    ("read", "Read"),
                    ("did-not-finish", "Did not finish"),
                ],
                max_length=14,
                verbose_name="shelf",
            ),
        ),
        migrations.AddField(
            model_name="shelfentry",
            name="finished_precision",
            field=models.CharField(
                choices=[("day", "Day"), ("year", "Year")],
                db_default="day",
                default="day",
                max_length=4,
                verbose_name="precision of the finish date",
            ),
        ),
        migrations.AddField(
            model_name="shelfentry",
            name="pages",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="pages"),
        ),
        # The only operation that rewrites the table.
        migrations.AddField(
            model_name="shelfentry",
            name="sort_on",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(
                        shelf="reading",
                        then=django.db.models.functions.comparison.Coalesce(
                            "started_on", models.Value(datetime.date(1, 1, 1))
                        ),
                    ),
                    models.When(
                        shelf__in=("read", "did-not-finish"),
                        then=django.db.models.functions.comparison.Coalesce(
                            "finished_on", models.Value(datetime.date(1, 1, 1))
                        ),
                    ),
                    default=models.F("shelved_on"),
                ),
                output_field=models.DateField(),
            ),
        ),
        migrations.AddIndex(
            model_name="shelfentry",
            index=models.Index(fields=["user", "shelf", "-sort_on", "-book"], name="catalog_shelf_newest"),
        ),
        migrations.AddField(
            model_name="shelfsettings",
            name="abandoned_privacy",
            field=models.CharField(
                choices=[("public", "Everyone"), ("followers", "My followers"), ("me", "Only me")],
                db_default="public",
                default="public",
                max_length=9,
            ),
        ),
        # Readers with a private shelf of read books have not seen the new shelf, so it is as private.
        migrations.RunSQL(
            "UPDATE catalog_shelfsettings SET abandoned_privacy = read_privacy WHERE read_privacy <> 'public'",
            migrations.RunSQL.noop,
        ),
        migrations.CreateModel(
            name="EarlierReading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("started_on", models.DateField(blank=True, null=True, verbose_name="started on")),
                ("finished_on", models.DateField(blank=True, null=True, verbose_name="finished on")),
                (
                    "finished_precision",
                    models.CharField(
                        choices=[("day", "Day"), ("year", "Year")],
                        default="day",
                        max_length=4,
                        verbose_name="precision of the finish date",
                    ),
                ),
                ("is_finished", models.BooleanField(default=True, verbose_name="finished")),
                (
                    "book",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.book",
                        verbose_name="book",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="reader",
                    ),
                ),
            ],
            options={
                "verbose_name": "earlier reading",
                "verbose_name_plural": "earlier readings",
            },
        ),
        migrations.CreateModel(
            name="ReadingProgress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("noted_on", models.DateField(verbose_name="noted on")),
                ("page", models.PositiveIntegerField(blank=True, null=True, verbose_name="page")),
                ("percent", models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="percent")),
                ("note", models.CharField(blank=True, max_length=280, verbose_name="note")),
                (
                    "book",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.book",
                        verbose_name="book",
                    ),
                ),
                (
                    "reading",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="progress",
                        to="catalog.earlierreading",
                        verbose_name="earlier reading",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="reader",
                    ),
                ),
            ],
            options={
                "verbose_name": "reading progress",
                "verbose_name_plural": "reading progress",
            },
        ),
        migrations.AddIndex(
            model_name="earlierreading",
            index=models.Index(fields=["user", "book"], name="catalog_reading_of_book"),
        ),
        migrations.AddIndex(
            model_name="earlierreading",
            index=models.Index(fields=["user", "finished_on"], name="catalog_reading_finished"),
        ),
        migrations.AddConstraint(
            model_name="earlierreading",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("started_on", None),
                    ("finished_on", None),
                    ("started_on__lte", models.F("finished_on")),
                    _connector="OR",
                ),
                name="catalog_reading_dates",
            ),
        ),
        migrations.AddIndex(
            model_name="readingprogress",
            index=models.Index(fields=["user", "book", "-id"], name="catalog_progress_newest"),
        ),
        migrations.AddConstraint(
            model_name="readingprogress",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("page__range", (0, 50000)), ("percent", None)),
                    models.Q(("page", None), ("percent__range", (0, 100))),
                    _connector="OR",
                ),
                name="catalog_progress_once",
            ),
        ),
    ]
