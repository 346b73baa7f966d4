"""Reviews of the demo's most popular books."""

from datetime import datetime, timedelta
from random import Random
from typing import Final

from django.utils import timezone

from accounts.models import User
from catalog.models import Book
from demo.people import READER_NAMES
from social.models import Like, Post
from social.reviews.models import Review
from social.reviews.services import Draft, write_review

SEED: Final = "diptych reviews"
BOOKS: Final = 24  # the most popular ones
MAX_REVIEWS: Final = 5  # of a book
MAX_LIKES: Final = 12  # of a review
# Before the demo's posts, which have higher ids: timelines are sorted by ids.
FIRST_DAY, LAST_DAY = 240, 184  # days ago
REVIEWS: Final = (
    (
        9,
        "",
        "I expected a pleasant evening and got three sleepless nights.\n\nThe first half builds its world "
        "**slowly**, and some readers will leave there. Stay. Every detail returns, and the last chapters "
        "earn all of them.",
    ),
    (
        8,
        "",
        "What works:\n\n- the voice, dry and kind at once\n- the minor characters, each with a life of their "
        "own\n- the weather\n\nWhat does not: the subplot with the letters. I would have cut it.",
    ),
    (
        5,
        "",
        "Not my book. The sentences are careful, the plot is careful, and I finished it with the feeling of "
        "having visited a museum on a Monday.",
    ),
    (
        10,
        "",
        "> A good book is one that you argue with.\n\nI argued with this one for weeks. I still think that "
        "the decision in the middle is wrong, ||and that the narrator knows it||, but I have rarely been so "
        "glad to disagree.",
    ),
    (
        7,
        "the ending",
        "Read it in one go, then started again at page one.\n\nThe ending divides people: ||nobody comes "
        "back, and the house stays empty||. For me it was the only honest one.",
    ),
    (
        6,
        "",
        "Charming, and about eighty pages too long. The chapters at the harbour are wonderful. The rest is "
        "waiting for the next chapter at the harbour.",
    ),
    (
        9,
        "",
        "My reading circle chose it against my vote. I apologise to all of them.\n\n1. The opening is "
        "perfect.\n2. The dialogue is better.\n3. I have no third point, I was busy reading.",
    ),
    (
        4,
        "",
        "I wanted to like it. The idea is fine, but everybody speaks with the same voice, and the surprises "
        "arrive with a bell around their neck.",
    ),
    (
        8,
        "",
        "*Quiet* is the word that everybody uses, and it is right. Quiet like a kitchen at six in the morning.",
    ),
    (
        7,
        "",
        "A book for people who read footnotes. I am one of them. Half a star less for the map, which lacks "
        "the one island that matters.",
    ),
)


def load_demo_reviews(now: datetime | None = None) -> int:
    """Add reviews by the demo's readers, with likes. Return the number of reviews of these readers.

    A second call adds nothing.
    """
    now = now or timezone.now()
    random = Random(SEED)
    readers = list(User.objects.filter(username__in=READER_NAMES, is_active=True).order_by("pk"))
    written: list[Review] = []
    for book_id in Book.objects.order_by("-popularity", "title").values_list("pk", flat=True)[:BOOKS]:
        count = min(len(readers), random.randint(1, MAX_REVIEWS))
        writers = random.sample(readers, count)
        texts = random.sample(REVIEWS, count)
        for reader, (stars, note, text) in zip(writers, texts, strict=True):
            at = now - timedelta(minutes=random.randrange(LAST_DAY * 1440, FIRST_DAY * 1440))
            written.append(write_review(reader.pk, book_id, Draft(text, stars, note, "en"), at.date()))
    _spread_times(written, now)
    likes = [
        Like(user=reader, post_id=review.pk)
        for review in written
        for reader in random.sample(readers, min(len(readers), int(random.paretovariate(0.8)), MAX_LIKES))
        if reader.pk != review.user_id
    ]
    Like.objects.bulk_create(likes, ignore_conflicts=True)
    return len(written)


def _spread_times(reviews: list[Review], now: datetime) -> None:
    """Give the reviews times in the order of their ids."""
    ids = sorted(review.pk for review in reviews)
    step = timedelta(days=FIRST_DAY - LAST_DAY) / max(1, len(ids))
    posts = Post.objects.in_bulk(ids)
    for number, pk in enumerate(ids):
        posts[pk].created_at = now - timedelta(days=FIRST_DAY) + number * step
    Post.objects.bulk_update(posts.values(), ["created_at"], batch_size=100)
