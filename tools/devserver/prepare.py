"""The preparations before a start of the site: ``python -m tools.devserver.prepare [--demo]``."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError

from demo import logins, notes
from tools import messages


def prepare_site(*, demo: bool) -> None:
    """Compile messages and migrate. For the demo, also load its data once and create its logins."""
    messages.compile_all()
    django.setup()
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    if not settings.DEBUG:
        call_command("collectstatic", interactive=False, verbosity=0)
    call_command("migrate", verbosity=0)
    if demo:
        _load_demo(os.environ.get("DATA", ""))


def _load_demo(folder: str) -> None:
    # Imported late, because models exist only after ``django.setup``.
    from demo.community.conversation import load_demo_likes
    from demo.community.profiles import load_demo_profiles
    from demo.community.reviews import load_demo_reviews
    from demo.lists import load_demo_lists
    from demo.people import load_demo_logins, load_demo_people
    from demo.posts import load_demo_posts
    from demo.shelves import load_demo_shelves
    from social.profiles.similar import rebuild_similar_readers

    _load_books_once(folder)
    _load_once("people", load_demo_people)
    logins.create_logins()
    _load_once("logins", lambda: load_demo_logins(logins.ROLES_BY_LOGIN))
    # Before the posts, which are younger and have higher ids.
    _load_once("shelves", load_demo_shelves)
    _load_once("lists", load_demo_lists)
    _load_once("reviews", load_demo_reviews)
    # Posts and orders are about the books, and by the people.
    _load_once("posts", load_demo_posts)
    _load_once("likes", load_demo_likes)
    _load_once("profiles", load_demo_profiles)
    _load_once("similar", rebuild_similar_readers)
    _load_shop_once(folder)
    _refresh_shop()


def _load_once(name: str, load: Callable[[], int]) -> None:
    """Call ``load``, unless this database has its data already. name: of the note that remembers it."""
    from mirror.read import database_identity

    loaded = notes.read_note(name)
    if database_identity() not in loaded:
        loaded[database_identity()] = load()
        # Noted afterwards: a load that was killed is repeated, and adds what is missing.
        notes.write_note(name, loaded)


def _load_books_once(folder: str) -> None:
    """Load ``folder`` (in goodbooks format) or the generated books, unless this database has them already."""
    from catalog.models import Book
    from mirror.read import database_identity

    source = str(Path(folder).resolve()) if folder else ""
    loaded = notes.read_note("loaded")
    here = loaded.setdefault(database_identity(), [])
    if source in here or (not source and Book.objects.exists()):
        return
    if source:
        call_command("import_goodbooks", source)
    else:
        call_command("demo_books")
    _rebuild_cold()
    here.append(source)
    notes.write_note("loaded", loaded)


def _rebuild_cold() -> None:
    """Rebuild the mirrors that the import has not rebuilt itself."""
    from mirror.status import list_cold

    # Without Redis, SQL serves the pages, and a later rebuild follows. No names would stand for all mirrors, but those
    # of tables that imports leave alone are cold before the first rebuild.
    with suppress(SystemExit):
        call_command("mirror", "rebuild", *list_cold())


def _load_shop_once(folder: str) -> None:
    """Add products and a history of the shop and compute recommendations, once for each ``folder`` and database."""
    from demo.shop import load_demo_shop
    from mirror.read import database_identity

    loaded = notes.read_note("shop")
    here = loaded.setdefault(database_identity(), [])
    if folder not in here:
        load_demo_shop()
        call_command("recommend", "rebuild", stdout=StringIO())
        here.append(folder)
        notes.write_note("shop", loaded)


def _refresh_shop() -> None:
    """Ensure a sale and some views at each start."""
    from demo.shop import ensure_sale, record_recent_views

    ensure_sale()
    record_recent_views()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        prepare_site(demo="--demo" in sys.argv)
    except (CommandError, DatabaseError, OSError) as error:
        sys.exit(f"diptych: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
