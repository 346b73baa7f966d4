"""Posts and follows of the demo's readers: the same on every machine, up to a few minutes ago."""

from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from random import Random
from typing import Final, NamedTuple

from django.utils import timezone

from accounts.models import User
from catalog.models import Author, Book, Tag
from catalog.series import split_title
from config import demo_posts_words as words
from config.demo_people import DAYS, NAMES, STAFF
from config.devserver.logins import PEOPLE as LOGINS
from social import bulk

SEED: Final = "diptych posts"
POSTS: Final = 480
# The ages of the latest posts in minutes, up to two days.
LATELY: Final = (2, 9, 17, 31, 52, 80, 125, 190, 260, 410, 600, 840, 1150, 1500, 1900, 2300, 2700)
SHELF: Final = 110  # books in posts
CHINESE: Final = "小说"
KINDS: Final = (CHINESE, *words.ABOUT)
FRIDAY: Final = 4
SHOPPER: Final = "demo-shopper"
KNOWN: Final = ("Ximena Rojas", "Sami Virtanen", "Dmitri Volkov", "陈宇航")  # readers with many followers


class DemoBook(NamedTuple):
    """A book in posts. kind: one of the tags with texts in ``words.ABOUT``, CHINESE, or ""."""

    pk: int
    title: str
    author: str
    kind: str


class DemoPost(NamedTuple):
    """A post. author: the author's name."""

    author: str
    text: str
    book: DemoBook | None
    at: datetime


def load_demo_posts(now: datetime | None = None) -> int:
    """Add follows and posts of the demo's people up to ``now``. Return the number of posts.

    A second call changes nothing.
    """
    now = now or timezone.now()
    names = (*NAMES, *STAFF, *LOGINS)
    ids = dict(User.objects.filter(username__in=names).values_list("username", "pk"))
    follows = sorted(demo_follows(now), key=lambda follow: follow[2])
    bulk.follows(bulk.NewFollow(ids[a], ids[b], at) for a, b, at in follows if a in ids and b in ids)
    said = [post for post in demo_posts(shelf(), now) if post.author in ids]
    rows = (
        bulk.NewPost(ids[post.author], f"demo:{number}", post.text, post.at, post.book and post.book.pk)
        for number, post in enumerate(said)
    )
    bulk.posts(rows, marked=True)
    return len(said)


def shelf() -> list[DemoBook]:
    """Return the books for posts: the most popular ones, and those in Chinese."""
    books = Book.objects.order_by("-popularity", "title")
    picked = [*books.exclude(tags__name=CHINESE)[:SHELF], *books.filter(tags__name=CHINESE)[:SHELF]]
    pks = [book.pk for book in picked]
    wrote = Author.objects.filter(books__in=pks).order_by("-name")
    tagged = Tag.objects.filter(books__in=pks, name__in=KINDS).values_list("books", "name")
    authors = dict(wrote.values_list("books", "name"))
    kinds = dict(sorted(tagged, key=lambda row: KINDS.index(row[1]), reverse=True))
    return [DemoBook(b.pk, b.title, authors.get(b.pk, ""), kinds.get(b.pk, "")) for b in picked]


def demo_follows(now: datetime) -> Iterator[tuple[str, str, datetime]]:
    """Yield follows as (follower, followed, start).

    They form a small world: neighbours on a ring, some replaced at random (Watts and Strogatz 1998). A few readers have
    many followers, and staff and the demo's logins follow some readers.
    """
    random, count = Random(SEED), len(NAMES)
    pairs: dict[tuple[str, str], None] = {}
    for place, name in enumerate(NAMES):
        for step in (1, 2, 3, count - 1, count - 2):
            near = NAMES[(place + step) % count]
            pairs[name, random.choice(NAMES) if random.random() < 0.2 else near] = None
    for name in (*NAMES, *LOGINS):
        pairs |= {(name, other): None for other in KNOWN if random.random() < 0.7}
    for name in (*STAFF, *LOGINS):
        pairs |= {(name, other): None for other in random.sample(NAMES, 9)}
    pairs |= {(name, shopper): None for shopper in LOGINS for name in random.sample(NAMES, 3)}
    for follower, followee in pairs:
        if follower != followee:
            yield follower, followee, now - timedelta(minutes=random.randrange(3000, DAYS * 1440))


def demo_posts(books: Sequence[DemoBook], now: datetime) -> list[DemoPost]:
    """Return the posts, oldest first."""
    random = Random(SEED)
    return list(_Talk(random, books).posts(sorted(_moments(random, now))))


def _moments(random: Random, now: datetime) -> Iterator[datetime]:
    """Yield the times of posts: by day, more often towards the present, and at the times of LATELY."""
    for minutes in LATELY:
        yield now - timedelta(minutes=minutes, seconds=random.randrange(60))
    for _ in range(POSTS - len(LATELY)):
        day = timezone.localdate(now) - timedelta(days=2 + int((DAYS - 2) * random.random() ** 1.6))
        clock = time(random.choice((7, 8, 12, 13, 17, 18, 19, 20, 21, 21, 22)), random.randrange(60))
        yield timezone.make_aware(datetime.combine(day, clock), timezone.get_default_timezone())


class _Talk:
    """A generator of posts. People have tastes, and avoid texts that they have used."""

    def __init__(self, random: Random, books: Sequence[DemoBook]) -> None:
        self.random = random
        self.books: dict[str, list[DemoBook]] = {}
        for book in books:
            self.books.setdefault(book.kind, []).append(book)
        self.people = (*NAMES, *STAFF)
        self.keen = [random.uniform(0.4, 1) ** 2 for _ in self.people]
        kinds = [kind for kind in self.books if kind != CHINESE]
        self.tastes = {name: random.sample(kinds, min(4, len(kinds))) for name in self.people}
        self.number = 0
        self.said: dict[str, int] = {}  # from a text to the number of the last post with it
        self.said_by: set[tuple[str, str]] = set()

    def posts(self, moments: Sequence[datetime]) -> Iterator[DemoPost]:
        welcome = [len(moments) * 2 // 3, len(moments) - 9]
        for self.number, at in enumerate(moments):
            if self.number in welcome:
                text = words.WELCOME[welcome.index(self.number)].format(u=f"@{SHOPPER}")
                yield DemoPost(STAFF[0], text, None, at)
            else:
                yield self._says(self.random.choices(self.people, self.keen)[0], at)

    def _says(self, name: str, at: datetime) -> DemoPost:
        chinese = not name.isascii() and self.random.random() < 0.8
        book = self._book(name, chinese)
        text = self._text(name, book, chinese)
        if book and not chinese and "{u}" not in text and self.random.random() < 0.3:
            text += " " + self._pick(words.CODAS, name)
        whom = self.random.choice([other for other in self.people if other != name])
        said = text.format(t=book and split_title(book.title)[0], a=book and book.author, u=f"@{whom}")
        return DemoPost(name, said + self._hashtags(book, at), book, at)

    def _book(self, name: str, chinese: bool) -> DemoBook | None:
        kinds = [CHINESE] if chinese else self.tastes[name]
        books = self.books.get(self.random.choice(kinds), []) if kinds else []
        unsaid = set(words.CHINESE_NO_BOOK if chinese else words.NO_BOOK) - self.said.keys()
        if not books or (unsaid and self.random.random() < 0.12):
            return None
        weights = [1 / (place + 4) for place in range(len(books))]
        return self.random.choices(books, weights)[0]

    def _text(self, name: str, book: DemoBook | None, chinese: bool) -> str:
        if chinese:
            return self._pick(words.CHINESE if book else words.CHINESE_NO_BOOK, name)
        if self.random.random() < 0.15:
            return self._pick(words.TO_SOMEBODY if book else words.TO_SOMEBODY_NO_BOOK, name)
        if book is None:
            return self._pick(words.NO_BOOK, name)
        about = words.ABOUT.get(book.kind, words.ANY_BOOK) if self.random.random() < 0.8 else words.ANY_BOOK
        return self._pick((*about, *words.ANY_BOOK[:2]), name)

    def _pick(self, texts: Sequence[str], name: str) -> str:
        """Return a text that ``name`` has not used and that was last used longest ago."""

        def order(text: str) -> tuple[bool, int, float]:
            return (name, text) in self.said_by, self.said.get(text, -1), self.random.random()

        text = min(texts, key=order)
        self.said[text] = self.number
        self.said_by.add((name, text))
        return text

    def _hashtags(self, book: DemoBook | None, at: datetime) -> str:
        """Return the hashtags of a post: one or two in four of ten posts."""
        if self.random.random() > 0.4:
            return ""
        some = words.HASHTAGS.get(book.kind if book else "", words.HASHTAGS[""])
        picked = self.random.sample(some, self.random.choice((1, 1, 2)))
        if timezone.localtime(at).weekday() == FRIDAY:
            picked[-1] = words.FRIDAY
        return "".join(f" #{name}" for name in picked)
