"""The data of the demo, with warm mirrors."""

import sys

from django.core.management import call_command

from accounts.models import User
from demo.community.conversation import load_demo_likes
from demo.community.profiles import load_demo_profiles
from demo.community.reviews import load_demo_reviews
from demo.lists import load_demo_lists
from demo.people import load_demo_people
from demo.posts import load_demo_posts
from demo.shelves import load_demo_shelves
from demo.shop import ensure_sale, load_demo_shop, record_recent_views
from tests.support.social.timelines import warm_up

READER = "Ada Quill"  # of the demo's people
PASSWORD = "the quiet harbour of 1911"


def load_demo() -> User:
    """Load the data, rebuild all mirrors, and return a reader whose password is PASSWORD."""
    call_command("demo_books", stdout=sys.stderr)
    load_demo_people()
    load_demo_shelves()
    load_demo_lists()
    load_demo_reviews()
    load_demo_posts()
    load_demo_likes()
    load_demo_profiles()
    load_demo_shop()
    ensure_sale()
    call_command("recommend", "rebuild", stdout=sys.stderr)
    reader = User.objects.get(username=READER)
    reader.set_password(PASSWORD)
    reader.save()
    warm_up(reader)
    record_recent_views()
    return reader
