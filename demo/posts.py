"""Posts and follows of the demo's readers: the same on every machine, up to a few minutes ago."""

from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from itertools import product
from random import Random
from typing import Final, NamedTuple

from django.utils import timezone

from accounts.models import User
from catalog.books import split_title
from catalog.models import Author, Book, Tag
from demo.community.conversation import create_posts_and_replies
from demo.logins import ROLES_BY_LOGIN
from demo.people import HISTORY_DAYS, READER_NAMES, STAFF_NAMES
from demo.words import posts as words
from social import bulk

SEED: Final = "diptych posts"
POST_COUNT: Final = 480
# The ages of the latest posts in minutes, up to two days.
RECENT_POST_MINUTES: Final = (2, 9, 17, 31, 52, 80, 125, 190, 260, 410, 600, 840, 1150, 1500, 1900, 2300, 2700)
MAX_BOOKS: Final = 110  # books in posts
CHINESE_TAG: Final = "小说"
BOOK_KINDS: Final = (CHINESE_TAG, *words.TEXTS_BY_TAG)
FRIDAY: Final = 4
SHOPPER: Final = "demo-shopper"
LOGIN_NAMES: Final = tuple(ROLES_BY_LOGIN)
POPULAR_READERS: Final = ("Ximena Rojas", "Sami Virtanen", "Dmitri Volkov", "陈宇航")  # readers with many followers


class DemoBook(NamedTuple):
    """A book in posts. kind: one of the tags with texts in ``words.posts.TEXTS_BY_TAG``, CHINESE_TAG, or ""."""

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

    @property
    def book_id(self) -> int | None:
        """The id of the book, or None."""
        return self.book.pk if self.book else None


def load_demo_posts(now: datetime | None = None) -> int:
    """Add follows, posts and replies of the demo's people up to ``now``. Return the number of posts without replies.

    A second call changes nothing.
    """
    now = now or timezone.now()
    names = READER_NAMES + STAFF_NAMES + LOGIN_NAMES
    ids = dict(User.objects.filter(username__in=names).values_list("username", "pk"))
    follows = []
    for follower, followee, at in generate_follows(now):
        if follower in ids and followee in ids:
            follows.append(bulk.NewFollow(ids[follower], ids[followee], at))
    # Ids grow with time: lists of followers are sorted by the ids of follows.
    follows.sort(key=lambda follow: follow.created_at)
    bulk.create_follows(follows)
    rows: list[bulk.NewPost] = []
    for post in generate_posts(find_books(), now):
        if post.author in ids:
            rows.append(bulk.NewPost(ids[post.author], f"demo:{len(rows)}", post.text, post.at, post.book_id))
    create_posts_and_replies(rows, [ids[name] for name in READER_NAMES if name in ids], now)
    return len(rows)


def find_books() -> list[DemoBook]:
    """Return the books for posts: the most popular ones, and those in Chinese."""
    books = Book.objects.order_by("-popularity", "title")
    picked = list(books.exclude(tags__name=CHINESE_TAG)[:MAX_BOOKS])
    picked += books.filter(tags__name=CHINESE_TAG)[:MAX_BOOKS]
    pks = [book.pk for book in picked]
    # Descending, because the last author of a book stays in the dictionary: the first by name.
    authors = dict(Author.objects.filter(books__in=pks).order_by("-name").values_list("books", "name"))
    tagged = list(Tag.objects.filter(books__in=pks, name__in=BOOK_KINDS).values_list("books", "name"))
    tagged.sort(key=lambda row: BOOK_KINDS.index(row[1]), reverse=True)
    kinds = dict(tagged)
    return [DemoBook(book.pk, book.title, authors.get(book.pk, ""), kinds.get(book.pk, "")) for book in picked]


def generate_follows(now: datetime) -> Iterator[tuple[str, str, datetime]]:
    """Yield follows as (follower, followed, start).

    They form a small world: neighbours on a ring, some replaced at random (Watts and Strogatz 1998). A few readers have
    many followers, and staff and the demo's logins follow some readers.
    """
    random = Random(SEED)
    pairs = _pick_neighbours(random)
    for name in READER_NAMES + LOGIN_NAMES:
        pairs += [(name, other) for other in POPULAR_READERS if random.random() < 0.7]
    for name in STAFF_NAMES + LOGIN_NAMES:
        pairs += product([name], random.sample(READER_NAMES, 9))
    for shopper in LOGIN_NAMES:
        pairs += product(random.sample(READER_NAMES, 3), [shopper])
    # A random choice may repeat a pair, or name the reader.
    for follower, followee in dict.fromkeys(pairs):
        if follower != followee:
            yield follower, followee, now - timedelta(minutes=random.randrange(3000, HISTORY_DAYS * 1440))


def _pick_neighbours(random: Random) -> list[tuple[str, str]]:
    """Return for each reader the neighbours on the ring, or random readers in their place."""
    count = len(READER_NAMES)
    pairs = []
    for place, name in enumerate(READER_NAMES):
        for step in (1, 2, 3, count - 1, count - 2):
            followee = READER_NAMES[(place + step) % count]
            if random.random() < 0.2:
                followee = random.choice(READER_NAMES)
            pairs.append((name, followee))
    return pairs


def generate_posts(books: Sequence[DemoBook], now: datetime) -> list[DemoPost]:
    """Return the posts, oldest first."""
    random = Random(SEED)
    return list(_PostGenerator(random, books).posts(sorted(_pick_times(random, now))))


def _pick_times(random: Random, now: datetime) -> Iterator[datetime]:
    """Yield the times of posts: by day, more often towards the present, and at the times of LATELY."""
    for minutes in RECENT_POST_MINUTES:
        yield now - timedelta(minutes=minutes, seconds=random.randrange(60))
    for _ in range(POST_COUNT - len(RECENT_POST_MINUTES)):
        day = timezone.localdate(now) - timedelta(days=2 + int((HISTORY_DAYS - 2) * random.random() ** 1.6))
        clock = time(random.choice((7, 8, 12, 13, 17, 18, 19, 20, 21, 21, 22)), random.randrange(60))
        yield timezone.make_aware(datetime.combine(day, clock), timezone.get_default_timezone())


def _fill_in(text: str, book: DemoBook | None, mentioned: str) -> str:
    """Return a text with the title and the author of its book, and with the reader that it may mention."""
    if book is None:
        return text.format(u=f"@{mentioned}")
    short_title, _ = split_title(book.title)
    return text.format(t=short_title, a=book.author, u=f"@{mentioned}")


class _PostGenerator:
    """A generator of posts. People have tastes, and avoid texts that they have used."""

    def __init__(self, random: Random, books: Sequence[DemoBook]) -> None:
        self.random = random
        self.books: dict[str, list[DemoBook]] = {}
        for book in books:
            self.books.setdefault(book.kind, []).append(book)
        self.people = READER_NAMES + STAFF_NAMES
        self.keen = [random.uniform(0.4, 1) ** 2 for _ in self.people]
        kinds = [kind for kind in self.books if kind != CHINESE_TAG]
        self.tastes = {name: random.sample(kinds, min(4, len(kinds))) for name in self.people}
        self.number = 0
        self.last_use: dict[str, int] = {}  # from a text to the number of the last post with it
        self.used_by: set[tuple[str, str]] = set()

    def posts(self, moments: Sequence[datetime]) -> Iterator[DemoPost]:
        welcome = [len(moments) * 2 // 3, len(moments) - 9]
        for self.number, at in enumerate(moments):
            if self.number in welcome:
                text = words.WELCOME_TEXTS[welcome.index(self.number)].format(u=f"@{SHOPPER}")
                yield DemoPost(STAFF_NAMES[0], text, None, at)
            else:
                author = self.random.choices(self.people, self.keen)[0]
                yield self._write_post(author, at)

    def _write_post(self, name: str, at: datetime) -> DemoPost:
        chinese = not name.isascii() and self.random.random() < 0.8
        book = self._pick_book(name, chinese)
        text = self._pick_text(name, book, chinese)
        may_close = book and not chinese and "{u}" not in text
        if may_close and self.random.random() < 0.3:
            text += " " + self._pick(words.CLOSING_TEXTS, name)
        mentioned = self.random.choice(sorted(set(self.people) - {name}))
        full_text = _fill_in(text, book, mentioned)
        return DemoPost(name, full_text + self._pick_hashtags(book, at), book, at)

    def _pick_book(self, name: str, chinese: bool) -> DemoBook | None:
        kinds = [CHINESE_TAG] if chinese else self.tastes[name]
        books: list[DemoBook] = []
        # A catalogue of other books may have none of these kinds.
        if kinds:
            books = self.books.get(self.random.choice(kinds), [])
        texts = words.CHINESE_TEXTS_WITHOUT_BOOK if chinese else words.TEXTS_WITHOUT_BOOK
        unused = set(texts) - self.last_use.keys()
        if not books or (unused and self.random.random() < 0.12):
            return None
        weights = [1 / (place + 4) for place in range(len(books))]
        return self.random.choices(books, weights)[0]

    def _pick_text(self, name: str, book: DemoBook | None, chinese: bool) -> str:
        if chinese:
            return self._pick(words.CHINESE_TEXTS if book else words.CHINESE_TEXTS_WITHOUT_BOOK, name)
        if self.random.random() < 0.15:
            return self._pick(words.TEXTS_TO_READER if book else words.TEXTS_TO_READER_WITHOUT_BOOK, name)
        if book is None:
            return self._pick(words.TEXTS_WITHOUT_BOOK, name)
        texts: tuple[str, ...] = words.TEXTS_ABOUT_ANY_BOOK
        if self.random.random() < 0.8:
            texts = words.TEXTS_BY_TAG.get(book.kind, texts)
        return self._pick(texts + words.TEXTS_ABOUT_ANY_BOOK[:2], name)

    def _pick(self, texts: Sequence[str], name: str) -> str:
        """Return a text that ``name`` has not used and that was last used longest ago."""

        def order(text: str) -> tuple[bool, int, float]:
            # A random number last, or the first of several unused texts would always win.
            return (name, text) in self.used_by, self.last_use.get(text, -1), self.random.random()

        text = min(texts, key=order)
        self.last_use[text] = self.number
        self.used_by.add((name, text))
        return text

    def _pick_hashtags(self, book: DemoBook | None, at: datetime) -> str:
        """Return the hashtags of a post: one or two in four of ten posts."""
        if self.random.random() > 0.4:
            return ""
        some = words.HASHTAGS.get(book.kind if book else "", words.HASHTAGS[""])
        picked = self.random.sample(some, self.random.choice((1, 1, 2)))
        if timezone.localtime(at).weekday() == FRIDAY:
            picked[-1] = words.FRIDAY_HASHTAG
        return " #" + " #".join(picked)
