"""Compare mirrored writes with the same writes without triggers and drains, followed by Redis commands by hand.

Both sides write the same tables: the other side's rounds run without triggers and hints.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import orjson
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from accounts.models import User
from catalog.models import Author, Book
from mirror import registry
from mirror.capture import install
from mirror.comparison import plan
from mirror.kinds import kind_of
from mirror.middleware import ReadYourWrites
from mirror.models import Change
from mirror.redis import naming
from mirror.redis.clients import client, relay_client
from mirror.redis.session import Session
from mirror.relay import drains, hints, signals
from mirror.upkeep import rebuild
from social.models import Follow, Hashtag, Mention, Post
from social.services.posts import create_post
from tests.bench.table import Comparison, Side
from tests.projects.mirrortest.models import Item, Label

SAVES, ROWS, POSTS, OLD_POSTS = 50, 10_000, 10, 1_200
SIZES: Final = f"{SAVES} saves of a record with three sets and a ranking"
TABLES: Final = {model._meta.db_table for model in (Item, Post, Hashtag, Mention)}
numbers = count(1)
_flush = hints.flush


def comparisons() -> Iterator[Comparison]:
    """Yield the comparisons, and install the triggers again."""
    registry.unregister("latest")  # a second mirror of the same rows
    _capture()
    _fill()
    requests, factory = ReadYourWrites(_answer(_save)), RequestFactory()
    closing: list[HttpResponse] = []
    mirror = registry.get("titem")

    def request() -> None:
        closing.extend(requests(factory.post("/")) for _ in range(SAVES))

    def close() -> None:
        while closing:
            closing.pop().close()

    yield _compare(
        "save(), inline", "save() and the same Redis commands", SIZES, _repeat(_save), _repeat(_by_hand), 0.33
    )
    type(mirror).drain = "after_response"
    by_hand = _answer(_by_hand)
    yield _compare(
        "save() in a request, after_response",
        "save() in a request and the same Redis commands",
        SIZES,
        request,
        lambda: [by_hand(factory.post("/")) for _ in range(SAVES)],
        0.71,
        afterwards=close,
    )
    type(mirror).drain = None
    sizes = f"{ROWS:,} rows"
    create = lambda: Item.objects.bulk_create([Item(name=f"bulk {next(numbers)}") for _ in range(ROWS)])  # noqa: E731
    update = lambda: Item.objects.filter(name__startswith="bulk").update(score=next(numbers))  # noqa: E731
    yield _compare("bulk_create(), not drained", "without triggers", sizes, create, create, 0.8, before=_empty)
    Item.objects.bulk_create([Item(name=f"bulk {next(numbers)}") for _ in range(ROWS)])
    yield _compare("update(), not drained", "without triggers", sizes, update, update, 0.5, before=_discard)

    def prepare() -> None:
        _discard()
        update()

    yield Comparison(
        "draining changed records",
        "the same SQL and pipelined commands",
        sizes,
        ours=drains.drain_all,
        theirs=_pipeline,
        target=0.6,
        before=prepare,
    )
    _empty()
    yield _compare(
        "create_post() in a request",
        "without triggers and drains",
        f"{POSTS} posts about a book with a hashtag, {OLD_POSTS:,} older posts",
        _repeat_requests(factory, closing),
        _repeat(_post, POSTS),
        0.33,
        afterwards=close,
    )
    _capture()


def _compare(
    what: str,
    other: str,
    sizes: str,
    ours: Side,
    theirs: Side,
    target: float,
    *,
    before: Side = lambda: None,
    afterwards: Side = lambda: None,
) -> Comparison:
    def with_triggers() -> None:
        _capture()
        before()

    def without() -> None:
        _release()
        before()

    return Comparison(what, other, sizes, ours, theirs, target, with_triggers, without, afterwards)


def _capture() -> None:
    """Install the triggers and drain what their installation orders."""
    hints.flush = _flush
    install.install()
    _discard()
    signals.connect()


def _release() -> None:
    """Drop the triggers of the written tables, and ignore the hints of signals."""
    capture = install.capture_for()
    for definition in capture.found().values():
        if definition.table in TABLES:
            capture.run(capture.drop(definition))
    hints.flush = lambda: hints._due.keys.clear()


def _fill() -> None:
    item = Item.objects.create(name="the item")
    item.labels.set([Label.objects.create(name=name) for name in ("red", "green", "blue")])
    book = Book.objects.create(title="A book of the bench")
    book.authors.add(Author.objects.create(name="An author of the bench"))
    people = [User.objects.create_user(f"writer {n}", password="!") for n in range(20)]
    Follow.objects.bulk_create([Follow(follower=one, followee=people[0]) for one in people[1:]])
    Post.objects.bulk_create(
        [
            Post(user=people[n % 20], text=f"post {n}", book=book if n % 5 == 0 else None, key=f"{n}")
            for n in range(OLD_POSTS)
        ]
    )
    for mirror in registry.all_mirrors():
        rebuild.rebuild_if_cold(mirror.name)
    drains.drain_all()


def _empty() -> None:
    Item.objects.filter(name__startswith="bulk").delete()
    _discard()


def _discard() -> None:
    """Delete all changes, and what Redis remembers of them: otherwise SQL would seem to be restored.

    On PostgreSQL the deleted rows are removed, as autovacuum does within a minute.
    """
    Change.objects.all()._raw_delete("default")
    relay_client().delete(naming.history())
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE mirror_change, mirrortest_item")


def _repeat(work: Callable[[], object], times: int = SAVES) -> Side:
    return lambda: [work() for _ in range(times)]


def _answer(work: Callable[[], object]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        work()
        return HttpResponse()

    return answer


def _repeat_requests(factory: RequestFactory, closing: list[HttpResponse]) -> Side:
    post = ReadYourWrites(_answer(_post))
    return lambda: closing.extend(post(factory.post("/")) for _ in range(POSTS))


def _save() -> Item:
    item: Item = _get_item()
    item.score = next(numbers)
    item.save()
    return item


def _get_item(found: list[Item] = []) -> Item:  # noqa: B006  (read once)
    if not found:
        found.append(Item.objects.get(name="the item"))
    return found[0]


def _by_hand() -> None:
    """Save the item and write its entries, as code without a mirror does."""
    item, labels = _save(), ("red", "green", "blue")
    record = {"id": item.pk, "name": item.name, "score": item.score, "group": None, "labels": labels}
    pipe = client().pipeline(transaction=True)
    pipe.set(f"titem:{item.pk}", orjson.dumps(record))
    pipe.zadd("titems:score", {str(item.pk): item.score})
    for label in labels:
        pipe.sadd(f"{{tlabel}}:{label}", item.pk)
    pipe.execute()


def _pipeline() -> None:
    """Write the records and entries of all items in pipelines, without outbox and comparison."""
    mirror = registry.get("titem")
    shape, pks = kind_of(mirror), [str(pk) for pk in Item.objects.order_by("pk").values_list("pk", flat=True)]
    with Session(relay_client()) as session:
        for start in range(0, len(pks), 500):
            targets = shape.targets(pks[start : start + 500])
            entries = [entry for target in targets.values() for entry in target.entries]
            session.ask(shape.write({pk: target.own for pk, target in targets.items()}) + plan.commands([], entries))


def _post() -> Post:
    user, book = User.objects.get(username="writer 0"), Book.objects.get(title="A book of the bench")
    return create_post(user.pk, "A post of the #bench", book_id=book.pk)
