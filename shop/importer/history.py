"""Import readers, their views, purchases and shelves."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from django.db import connection, reset_queries, transaction

from accounts.models import User
from accounts.users import bulk
from catalog.shelves.models import Shelf, ShelfEntry
from common.database import Atomic, split_slices
from common.text import fold
from mirror.utils import CountCallback, arrays
from shop.book_views.retention import get_kept_since
from shop.importer import synthetic
from shop.importer.bulk import insert_rows
from shop.importer.files import Pair
from shop.models import Order, OrderLine, OrderState, Product, View

ROWS_PER_TRANSACTION: Final = 5000  # some 100 ms
VIEW_COLUMNS: Final = ("visitor", "user_id", "book_id", "seen_at")
ORDER_COLUMNS: Final = (
    "user_id", "key", "state", "total", "email", "name", "address", "created_at", "reserved_until", "paid_at",
    "sent_at", "confirmed_at",
)  # fmt: skip
CREATED_AT: Final = ORDER_COLUMNS.index("created_at")
LINE_COLUMNS: Final = ("order_id", "product_id", "title", "quantity", "price")
ENTRY_COLUMNS: Final = ("user_id", "book_id", "shelf", "stars", "shelved_on", "started_on", "finished_on")

T = TypeVar("T")


class PrimaryKeys(NamedTuple):
    """Primary keys by the numbers of the files."""

    users: Mapping[int, int]
    books: Mapping[int, int]


def make_reader_name(user: int) -> str:
    """Return the user name of a reader of the files."""
    return f"goodbooks reader {user}"


def import_readers(
    users: Iterable[int], told: CountCallback, atomic: Atomic = transaction.atomic
) -> tuple[dict[int, int], int]:
    """Create missing readers, without the means to log in. Return user ids by reader number, and the number of new
    users.
    """
    found: dict[int, int] = {}
    new = 0
    for some in split_slices(sorted(users)):
        names = [make_reader_name(user) for user in some]
        with atomic():
            there = User.objects.filter(name_key__in=map(fold, names)).count()
            ids = bulk.get_or_create_users(names)
        found |= {user: ids[make_reader_name(user)] for user in some}
        new += len(ids) - there
        told(len(some))
    return found, new


def import_views(pairs: Iterable[Pair], known: PrimaryKeys, told: CountCallback) -> int:
    """Add missing views. Return the number of new rows."""
    slices = split_slices(pairs, ROWS_PER_TRANSACTION)
    return sum(_add_slice(_add_views, some, known, told) for some in slices)


def _add_views(some: Sequence[Pair], known: PrimaryKeys) -> int:
    """Add missing views, without those that are already too old to be kept."""
    visitors = {f"goodbooks:{pair.user}" for pair in some}
    there = set(View.objects.filter(visitor__in=visitors).values_list("visitor", "book_id"))
    return insert_rows(View, VIEW_COLUMNS, _list_views(some, known, there))


def _list_views(some: Sequence[Pair], known: PrimaryKeys, there: set[tuple[str, int]]) -> Iterator[tuple[Any, ...]]:
    since = get_kept_since()
    for pair in some:
        visitor = f"goodbooks:{pair.user}"
        book = known.books[pair.book]
        seen_at = synthetic.invent_view_time(pair.user, pair.book)
        if (visitor, book) not in there and seen_at >= since:
            yield visitor, known.users[pair.user], book, seen_at


def import_purchases(pairs: Iterable[Pair], known: PrimaryKeys, told: CountCallback) -> int:
    """Add missing orders, one for each rating, as sent long ago. Return the number of new rows."""
    slices = split_slices(pairs, ROWS_PER_TRANSACTION)
    return sum(_add_slice(_add_orders, some, known, told) for some in slices)


def import_shelves(
    wanted: Iterable[Pair],
    rated: Iterable[Pair],
    known: PrimaryKeys,
    told: CountCallback,
    atomic: Atomic = transaction.atomic,
) -> int:
    """Shelve rated books as read and wanted books as such, unless their reader has shelved them. Return the number of
    rows.
    """
    pairs = chain(((Shelf.READ, pair) for pair in rated), ((Shelf.WANT, pair) for pair in wanted))
    slices = split_slices(pairs, ROWS_PER_TRANSACTION)
    return sum(_add_slice(_add_shelf_entries, some, known, told, atomic) for some in slices)


def _add_shelf_entries(some: Sequence[tuple[Shelf, Pair]], known: PrimaryKeys) -> int:
    return insert_rows(ShelfEntry, ENTRY_COLUMNS, (_make_shelf_entry(shelf, pair, known) for shelf, pair in some))


def _make_shelf_entry(shelf: Shelf, pair: Pair, known: PrimaryKeys) -> tuple[Any, ...]:
    """Return the values of ``ENTRY_COLUMNS``."""
    user, book, stars = pair
    started_on = finished_on = None
    if shelf == Shelf.READ:
        started_on = synthetic.invent_purchase_time(user, book).date()
        finished_on = synthetic.invent_finish_date(user, book)
    shelved_on = synthetic.invent_view_time(user, book).date()
    return known.users[user], known.books[book], shelf.value, stars or None, shelved_on, started_on, finished_on


def _add_slice(
    add: Callable[[Sequence[T], PrimaryKeys], int],
    some: Sequence[T],
    known: PrimaryKeys,
    told: CountCallback,
    atomic: Atomic = transaction.atomic,
) -> int:
    with atomic():
        new = add(some, known)
    # With DEBUG, Django keeps every statement.
    reset_queries()
    told(len(some))
    return new


def _add_orders(some: Sequence[Pair], known: PrimaryKeys) -> int:
    wanted = {f"goodbooks:{pair.user}:{pair.book}": pair for pair in some}
    there = _find_orders(wanted)
    new = {key: pair for key, pair in wanted.items() if key not in there}
    if not new:
        return 0
    products = {known.books[pair.book] for pair in new.values()}
    titles = dict(Product.objects.filter(pk__in=products).values_list("pk", "book__title"))
    new = {key: pair for key, pair in new.items() if known.books[pair.book] in titles}
    orders = sorted((_make_order(key, pair, known) for key, pair in new.items()), key=itemgetter(CREATED_AT))
    # Sorted by time, so that ids rise with time as they do elsewhere.
    insert_rows(Order, ORDER_COLUMNS, orders)
    # SQLite before 3.35 does not return the keys of inserted rows.
    ids = _find_orders(new)
    lines: list[tuple[Any, ...]] = []
    for key, pair in new.items():
        product = known.books[pair.book]
        lines.append((ids[key], product, titles[product], 1, synthetic.invent_price(pair.book)))
    return insert_rows(OrderLine, LINE_COLUMNS, lines)


def _find_orders(keys: Iterable[str]) -> dict[str, int]:
    """Return the ids of the existing orders among these, by key."""
    # With one parameter: the ORM needs as long for thousands of them as SQL for the rows.
    condition, values = arrays.match_any(keys, "text")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key, id FROM shop_order WHERE key {condition}", values)
        return dict(cursor.fetchall())


def _make_order(key: str, pair: Pair, known: PrimaryKeys) -> tuple[Any, ...]:
    """Return the values of ``ORDER_COLUMNS`` of a completed order, for which no email is sent."""
    at = synthetic.invent_purchase_time(pair.user, pair.book)
    price = synthetic.invent_price(pair.book)
    email = f"reader{pair.user}@goodbooks.invalid"
    name = make_reader_name(pair.user)
    sent_at = at + timedelta(days=1)
    return known.users[pair.user], key, OrderState.SENT.value, price, email, name, "-", at, at, at, sent_at, at
