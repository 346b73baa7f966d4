"""Profiles of the demo's readers: texts, links, favourite books and authors, a few pictures, and a private account."""

from io import BytesIO
from random import Random
from typing import Final

from PIL import Image, ImageColor, ImageDraw

from accounts.models import User
from catalog.following.services import follow_author
from catalog.models import Author
from catalog.shelves.models import Shelf, ShelfEntry
from demo.logins import ROLES_BY_LOGIN
from demo.people import READER_NAMES
from social.models import FavouriteBook, ReaderProfile
from social.profiles import services
from social.services.people import follow, set_private

SEED: Final = "diptych profiles"
PRIVATE_NAME: Final = "Noor Haddad"
REQUESTS: Final = 4  # of readers and the demo's shopper, to follow the private account
PICTURED: Final = 6  # readers with a picture
# The sky, the sun, the far hill and the near one
COLOURS: Final = (
    ("#f2d0a4", "#d9694f", "#5c7184", "#16324f"),
    ("#dfe8e2", "#f2b950", "#6d8f7a", "#2d4739"),
    ("#f3dcd6", "#fff6e5", "#a8616a", "#5b2333"),
    ("#cfdcec", "#f7c948", "#6c63a8", "#3d348b"),
)
BIOS: Final = (
    "Mostly translated fiction, some poetry, and every book about bridges I can find.",
    "I read on trains. Give me long sentences and short chapters.",
    "Bookseller by day. I rate generously and regret nothing.",
    "Slow reader, quick opinions. My marginalia are at https://notes.example/.",
    "Crime novels in winter, travel writing in summer, cookbooks all year.",
    "Reading my way through the prizes of 1970. Ask me in ten years.",
)


def load_demo_profiles() -> int:
    """Add profiles to the readers without one. Return their number."""
    random = Random(SEED)
    names = (*READER_NAMES, *ROLES_BY_LOGIN)
    readers = list(User.objects.filter(username__in=names, is_active=True).order_by("pk"))
    done = set(ReaderProfile.objects.filter(user__in=readers).values_list("user_id", flat=True))
    added = 0
    for number, reader in enumerate(readers):
        bio, place = random.choice(BIOS), random.random()
        # Some readers have none, as on a real site.
        if reader.pk in done or number % 3 == 2:
            continue
        links = [f"https://reader{number}.example/"] if place < 0.4 else []
        services.set_texts(reader.pk, bio, links)
        _choose_favourites(reader.pk)
        _follow_authors(reader.pk)
        if number < PICTURED:
            services.set_picture(reader.pk, _paint_picture(random))
        added += 1
    _make_private(random, readers)
    return added


def _choose_favourites(user_id: int) -> None:
    """Choose the best rated books that the reader has read."""
    read = ShelfEntry.objects.filter(user_id=user_id, shelf=Shelf.READ).exclude(stars=None)
    for book in read.order_by("-stars", "pk").values_list("book_id", flat=True)[: services.MAX_FAVOURITES]:
        services.add_favourite(user_id, book)


def _follow_authors(user_id: int) -> None:
    """Follow the authors of the favourite books."""
    favourites = FavouriteBook.objects.filter(user_id=user_id).values("book_id")
    for author in Author.objects.filter(books__in=favourites).distinct().order_by("pk"):
        follow_author(user_id, author.pk)


def _paint_picture(random: Random) -> bytes:
    """Return a sun above two hills as a picture, so that the demo ships no photographs."""
    sky, sun, far, near = map(ImageColor.getrgb, random.choice(COLOURS))
    picture = Image.new("RGB", (960, 960), sky)
    draw = ImageDraw.Draw(picture)
    x, y = random.uniform(280, 680), random.uniform(260, 420)
    draw.circle((x, y), 150, fill=sun)
    draw.circle((random.uniform(80, 320), 1160), 640, fill=far)
    draw.circle((random.uniform(640, 860), 1240), 620, fill=near)
    made = BytesIO()
    picture.save(made, "PNG")
    return made.getvalue()


def _make_private(random: Random, readers: list[User]) -> None:
    """Make one account private, and let others ask to follow it."""
    owner = next((reader for reader in readers if reader.username == PRIVATE_NAME), None)
    if owner is None:
        return
    set_private(owner.pk, is_private=True)
    # Followers from before stay, so some readers of the demo see the posts and others do not.
    others = [reader for reader in readers if reader != owner]
    shoppers = [reader for reader in others if reader.username in ROLES_BY_LOGIN]
    for reader in [*random.sample(others, min(len(others), REQUESTS)), *shoppers]:
        follow(reader.pk, owner.pk)
