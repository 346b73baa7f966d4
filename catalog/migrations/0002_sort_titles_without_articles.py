from django.db import migrations, models

from catalog.sort_titles import sort_title


class Migration(migrations.Migration):
    """The expression of a generated column cannot be altered: the column is made anew."""

    dependencies = [("catalog", "0001_initial")]

    operations = [
        migrations.RemoveIndex("book", "catalog_book_title"),
        migrations.RemoveField("book", "sort_title"),
        migrations.AddField(
            "book",
            "sort_title",
            models.GeneratedField(
                expression=sort_title(), output_field=models.CharField(max_length=500), db_persist=True
            ),
        ),
        migrations.AddIndex("book", models.Index(fields=["sort_title", "id"], name="catalog_book_title")),
    ]
