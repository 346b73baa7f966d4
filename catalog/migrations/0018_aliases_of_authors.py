import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0017_book_added_at")]

    operations = [
        migrations.CreateModel(
            name="AuthorAlias",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=300, unique=True, verbose_name="name")),
                ("former_id", models.BigIntegerField(unique=True, verbose_name="former number")),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="aliases",
                        to="catalog.author",
                        verbose_name="author",
                    ),
                ),
            ],
            options={
                "verbose_name": "alias of an author",
                "verbose_name_plural": "aliases of authors",
                "ordering": ["name"],
            },
        ),
    ]
