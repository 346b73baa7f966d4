from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0015_author_bio'),
    ]

    operations = [
        migrations.AddField(
            model_name='author',
            name='photo',
            field=models.CharField(blank=True, db_default='', editable=False, max_length=40, verbose_name='photo'),
        ),
        migrations.AddField(
            model_name='book',
            name='cover',
            field=models.CharField(blank=True, db_default='', editable=False, max_length=40, verbose_name='cover'),
        ),
        migrations.AddField(
            model_name='book',
            name='design',
            field=models.CharField(blank=True, db_default='', editable=False, max_length=20),
        ),
    ]
