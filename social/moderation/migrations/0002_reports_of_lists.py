from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("moderation", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="case",
            name="kind",
            field=models.CharField(
                choices=[
                    ("post", "post"),
                    ("reader", "reader"),
                    ("hashtag", "hashtag"),
                    ("tag", "tag"),
                    ("list", "list of books"),
                ],
                max_length=8,
                verbose_name="kind",
            ),
        ),
    ]
