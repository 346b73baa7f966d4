from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('lists', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name='readinglist',
            index=models.Index(condition=models.Q(('privacy', 'public')), fields=['-id'], name='lists_public'),
        ),
    ]
