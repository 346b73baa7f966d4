"""The hashtags of existing posts, which may have hyphens and dots between their words."""

from collections import defaultdict
from typing import Any, Final

from django.db import migrations

from social.content.tokens import find_hashtags

BATCH: Final = 2000  # posts
MAX_HASHTAGS: Final = 20  # of a post


def read_again(apps: Any, schema_editor: Any) -> None:
    """Replace the hashtags of posts that had been cut: "young" of "#young-adult"."""
    using = schema_editor.connection.alias
    posts, hashtags = (apps.get_model("social", name).objects.using(using) for name in ("Post", "Hashtag"))
    last = 0
    while some := list(posts.filter(pk__gt=last).order_by("pk").values_list("pk", "text")[:BATCH]):
        stored: dict[int, set[str]] = defaultdict(set)
        for post, name in hashtags.filter(post__in=[pk for pk, _ in some]).values_list("post", "name"):
            stored[post].add(name)
        for post, text in some:
            if stored[post] and stored[post] != (wanted := set(find_hashtags(text)[:MAX_HASHTAGS])):
                hashtags.filter(post=post).exclude(name__in=wanted).delete()
                hashtags.bulk_create(hashtags.model(post_id=post, name=name) for name in wanted - stored[post])
        last = some[-1][0]


class Migration(migrations.Migration):
    dependencies = [("social", "0003_fold_again")]
    operations = [migrations.RunPython(read_again, migrations.RunPython.noop, elidable=True)]
