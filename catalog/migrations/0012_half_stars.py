from django.db import migrations, models


class Migration(migrations.Migration):
    """Ratings are in halves of a star from now on."""

    dependencies = [("catalog", "0011_title_keys")]

    operations = [
        migrations.RemoveConstraint(model_name="shelfentry", name="catalog_shelved_stars"),
        migrations.RunSQL(
            "UPDATE catalog_shelfentry SET stars = stars * 2 WHERE stars IS NOT NULL",
            "UPDATE catalog_shelfentry SET stars = (stars + 1) / 2 WHERE stars IS NOT NULL",
        ),
        migrations.AddConstraint(
            model_name="shelfentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("stars", None), ("stars__range", (1, 10)), _connector="OR"),
                name="catalog_shelved_stars",
            ),
        ),
    ]
