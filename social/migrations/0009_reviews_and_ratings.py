from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("social", "0008_content_notes")]

    operations = [
        migrations.AddField(
            model_name="post",
            name="kind",
            field=models.CharField(
                choices=[("post", "post"), ("review", "review"), ("rating", "rating")],
                db_default="post",
                default="post",
                editable=False,
                max_length=6,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            model_name="post", name="text", field=models.TextField(blank=True, verbose_name="text")
        ),
        migrations.RemoveConstraint(model_name="post", name="social_post_says_something"),
        migrations.AddConstraint(
            model_name="post",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("text", ""), _negated=True), ("kind", "rating"), _connector="OR"),
                name="social_post_says_something",
            ),
        ),
    ]
