from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_sort_titles_without_articles")]

    operations = [
        migrations.AddIndex("book", models.Index(fields=["-rating", "id"], name="catalog_book_rated")),
    ]
