import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import catalog.models


class Migration(migrations.Migration):
    """The table of books' tags was there: it has a model and a count from now on."""

    dependencies = [
        ("catalog", "0003_books_by_rating"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    "Tagging",
                    [
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("book", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="catalog.book")),
                        ("tag", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="catalog.tag")),
                    ],
                    {
                        "db_table": "catalog_book_tags",
                        "verbose_name": "tag of a book",
                        "verbose_name_plural": "tags of a book",
                        "unique_together": {("book", "tag")},
                    },
                ),
                migrations.AlterField(
                    "book",
                    "tags",
                    models.ManyToManyField(
                        blank=True,
                        related_name="books",
                        through="catalog.Tagging",
                        to="catalog.tag",
                        verbose_name="tags",
                    ),
                ),
            ]
        ),
        migrations.AddField(
            "tagging",
            "imported_count",
            models.PositiveIntegerField(
                db_default=1,
                default=1,
                help_text="Votes of readers of this shop are added.",
                verbose_name="readers elsewhere",
            ),
        ),
        migrations.AddField(
            "tag",
            "hidden",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="Queries know it; pages and lists of tags do not show it.",
                verbose_name="hidden",
            ),
        ),
        migrations.CreateModel(
            "TagAlias",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", catalog.models.TagNameField(max_length=200, unique=True, verbose_name="name")),
                (
                    "tag",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="aliases",
                        to="catalog.tag",
                        verbose_name="tag",
                    ),
                ),
            ],
            {
                "verbose_name": "other name of a tag",
                "verbose_name_plural": "other names of tags",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            "TagVote",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="given")),
                (
                    "book",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="catalog.book"
                    ),
                ),
                (
                    "tag",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="catalog.tag"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            {
                "verbose_name": "vote for a tag",
                "verbose_name_plural": "votes for tags",
                "indexes": [models.Index(fields=["book", "tag"], name="catalog_tagvote_counted")],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "book", "tag"), name="catalog_tagvote_once")
                ],
            },
        ),
    ]
