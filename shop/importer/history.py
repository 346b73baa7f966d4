"""Import readers, their views, purchases and shelves."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import NamedTuple, TypeVar

from django.db import reset_queries, transaction

from accounts.models import User
from accounts.users import bulk
from catalog.shelves.models import Shelf, ShelfEntry
from common.database import split_slices
from common.text import fold
from mirror.utils import CountCallback
from shop.book_views.retention import get_kept_since
from shop.importer import synthetic
from shop.importer.bulk import bulk_insert
from shop.importer.files import Pair
from shop.models import Order, OrderLine, OrderState, Product, View

T = TypeVar("T")


class PrimaryKeys(NamedTuple):
    """Primary keys by the numbers of the files."""

    users: Mapping[int, int]
    books: Mapping[int, int]


def make_reader_name(user: int) -> str:
    """Return the user name of a reader of the files."""
    return f"goodbooks reader {user}"


def import_readers(users: Iterable[int], told: CountCallback) -> tuple[dict[int, int], int]:
    """Create missing readers, without the means to log in. Return user ids by reader number, and the number of new
    users.
    """
    found: dict[int, int] = {}
    new = 0
    for some in split_slices(sorted(users)):
        names = [make_reader_name(user) for user in some]
        there = User.objects.filter(name_key__in=map(fold, names)).count()
        ids = bulk.get_or_create_users(names)
        found |= {user: ids[make_reader_name(user)] for user in some}
        new += len(ids) - there
        told(len(some))
    return found, new


def import_views(pairs: Iterable[Pair], known: PrimaryKeys, told: CountCallback) -> int:
    """Add missing views. Return the number of new rows."""
    return sum(_add_slice(_add_views, some, known, told) for some in split_slices(pairs))


def _add_views(some: Sequence[Pair], known: PrimaryKeys) -> int:
    """Add missing views, without those that are already too old to be kept."""
    since = get_kept_since()
    visitors = {f"goodbooks:{pair.user}" for pair in some}
    there = set(View.objects.filter(visitor__in=visitors).values_list("visitor", "book_id"))
    rows = (
        View(
            visitor=f"goodbooks:{pair.user}",
            user_id=known.users[pair.user],
            book_id=known.books[pair.book],
            seen_at=synthetic.invent_view_time(pair.user, pair.book),
        )
        for pair in some
        if (f"goodbooks:{pair.user}", known.books[pair.book]) not in there
        and synthetic.invent_view_time(pair.user, pair.book) >= since
    )
    return bulk_insert(View, rows)


def import_purchases(pairs: Iterable[Pair], known: PrimaryKeys, told: CountCallback) -> int:
    """Add missing orders, one for each rating, as sent long ago. Return the number of new rows."""
    return sum(_add_slice(_add_orders, some, known, told) for some in split_slices(pairs))


def import_shelves(wanted: Iterable[Pair], rated: Iterable[Pair], known: PrimaryKeys, told: CountCallback) -> int:
    """Shelve rated books as read and wanted books as such, unless their reader has shelved them. Return the number of
    rows.
    """
    pairs = chain(((Shelf.READ, pair) for pair in rated), ((Shelf.WANT, pair) for pair in wanted))
    return sum(_add_slice(_add_shelf_entries, some, known, told) for some in split_slices(pairs))


def _add_shelf_entries(some: Sequence[tuple[Shelf, Pair]], known: PrimaryKeys) -> int:
    return bulk_insert(ShelfEntry, (_make_shelf_entry(shelf, pair, known) for shelf, pair in some))


def _make_shelf_entry(shelf: Shelf, pair: Pair, known: PrimaryKeys) -> ShelfEntry:
    user, book, stars = pair
    is_read = shelf == Shelf.READ
    return ShelfEntry(
        user_id=known.users[user],
        book_id=known.books[book],
        shelf=shelf,
        stars=stars or None,
        shelved_on=synthetic.invent_view_time(user, book).date(),
        started_on=synthetic.invent_purchase_time(user, book).date() if is_read else None,
        finished_on=synthetic.invent_finish_date(user, book) if is_read else None,
    )


def _add_slice(
    add: Callable[[Sequence[T], PrimaryKeys], int], some: Sequence[T], known: PrimaryKeys, told: CountCallback
) -> int:
    with transaction.atomic():
        new = add(some, known)
    # With DEBUG, Django keeps every statement.
    reset_queries()
    told(len(some))
    return new


def _add_orders(some: Sequence[Pair], known: PrimaryKeys) -> int:
    wanted = {f"goodbooks:{pair.user}:{pair.book}": pair for pair in some}
    there = set(Order.objects.filter(key__in=wanted).values_list("key", flat=True))
    new = {key: pair for key, pair in wanted.items() if key not in there}
    if not new:
        return 0
    products = {known.books[pair.book] for pair in new.values()}
    titles = dict(Product.objects.filter(pk__in=products).values_list("pk", "book__title"))
    new = {key: pair for key, pair in new.items() if known.books[pair.book] in titles}
    orders = sorted((_make_order(key, pair, known) for key, pair in new.items()), key=lambda order: order.created_at)
    # Sorted by time, so that ids rise with time as they do elsewhere.
    bulk_insert(Order, orders)
    # SQLite before 3.35 does not return the keys of inserted rows.
    ids = dict(Order.objects.filter(key__in=new).values_list("key", "pk"))
    lines = (
        OrderLine(
            order_id=ids[key],
            product_id=known.books[pair.book],
            title=titles[known.books[pair.book]],
            quantity=1,
            price=synthetic.invent_price(pair.book),
        )
        for key, pair in new.items()
    )
    return bulk_insert(OrderLine, lines)


def _make_order(key: str, pair: Pair, known: PrimaryKeys) -> Order:
    """Return a completed order, for which no email is sent."""
    at = synthetic.invent_purchase_time(pair.user, pair.book)
    return Order(
        user_id=known.users[pair.user],
        key=key,
        state=OrderState.SENT,
        total=synthetic.invent_price(pair.book),
        email=f"reader{pair.user}@goodbooks.invalid",
        name=make_reader_name(pair.user),
        address="-",
        created_at=at,
        reserved_until=at,
        paid_at=at,
        sent_at=at + timedelta(days=1),
        confirmed_at=at,
    )
