"""A shop with a history for ``make demo``: prices, customers with views and orders, and a sale."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from random import Random
from typing import Final, NamedTuple

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.users import bulk
from catalog.models import Book, Tag
from common.database import split_slices
from demo.delivery import add_delivery
from demo.logins import ROLES_BY_LOGIN
from demo.people import READER_NAMES
from demo.words.books import FIRST_NAMES, GENRES, LAST_NAMES
from shop.book_views import popularity
from shop.importer import bulk_insert, synthetic
from shop.models import (
    EventKind,
    FakeCharge,
    Order,
    OrderEvent,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
    Product,
    Sale,
    SaleItem,
    View,
)

SEED: Final = "diptych shop"
# In addition to the authors of posts, because pages state a share of readers only from fifty on.
CUSTOMER_COUNT: Final = 260
MAX_ITEMS: Final = 90  # books on view
HISTORY_DAYS: Final = 170
BOOK_KINDS: Final = tuple(genre.tags[0] for genre in GENRES)
SALE_NAME: Final = "This week's finds"
SALE_ITEM_COUNT: Final = 14
SALE_DAYS: Final = 3
VIEWS_OF_READER: Final = 5


class Item(NamedTuple):
    """A book for sale. kind: one of KINDS, or ""."""

    pk: int
    title: str
    price: int
    kind: str


class Visit(NamedTuple):
    """A visit of a customer: the books viewed, each with its time, the books ordered, and the time of the order."""

    user: int
    views: list[tuple[Item, datetime]]
    buys: list[Item]
    ordered: datetime


def load_demo_shop(now: datetime | None = None) -> dict[str, int]:
    """Add products for all books and, if the shop has no orders, customers with a history.

    Return the numbers of products and orders.
    """
    now = now or timezone.now()
    _add_products()
    add_delivery()
    if not Order.objects.exists():
        _add_visits(_invent_visits(now), now)
    return {"products": Product.objects.count(), "orders": Order.objects.count()}


def ensure_sale(now: datetime | None = None) -> bool:
    """Ensure that a sale is running or planned. Return whether a sale was created or restarted."""
    now = now or timezone.now()
    items = find_items()
    if Sale.objects.ending_after(now).exists() or not items:
        return False
    times = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(days=SALE_DAYS)}
    with transaction.atomic():
        sale, _ = Sale.objects.update_or_create(name=SALE_NAME, defaults=times)
        if not sale.items.exists():
            random = Random(SEED)
            picked = random.sample(items, min(SALE_ITEM_COUNT, len(items)))
            SaleItem.objects.bulk_create(
                SaleItem(sale=sale, product_id=item.pk, price=item.price * random.randrange(60, 85) // 100)
                for item in picked
            )
    return True


def record_recent_views() -> int:
    """Record some views of the demo's readers now, unless there are recent views. Return the number of views."""
    items, random = find_items(), Random(SEED)
    if not items or popularity.get_popular_books(1).is_viewed:
        return 0
    readers = list(User.objects.filter(username__in=READER_NAMES).order_by("pk").values_list("pk", flat=True))
    for reader in readers:
        for _ in range(VIEWS_OF_READER):
            book = _pick_popular(random, items).pk
            popularity.count_view(None, book, visitor=f"demo:{reader}", user_id=reader)
    return len(readers) * VIEWS_OF_READER


def find_items() -> list[Item]:
    """Return the most popular books that are for sale and in stock."""
    rows = Product.objects.for_sale().filter(stock__gt=0).order_by("-book__popularity", "book__title")
    found = list(rows.values_list("pk", "book__title", "price")[:MAX_ITEMS])
    kinds: dict[int, set[str]] = defaultdict(set)
    tagged = Tag.objects.filter(name__in=BOOK_KINDS, books__in=[pk for pk, _, _ in found])
    for pk, name in tagged.values_list("books", "name"):
        kinds[pk].add(name)
    return [Item(pk, title, price, _pick_kind(kinds[pk])) for pk, title, price in found]


def _pick_kind(tags: set[str]) -> str:
    """Return the first of BOOK_KINDS among the tags of a book, or ""."""
    for kind in BOOK_KINDS:
        if kind in tags:
            return kind
    return ""


def _add_products() -> None:
    missing = Book.objects.filter(product=None).order_by("pk").values_list("pk", "pages")
    for some in split_slices(list(missing)):
        rows = [_build_product(pk, pages) for pk, pages in some]
        # A second start beside this one may add the same products.
        Product.objects.bulk_create(rows, ignore_conflicts=True)


def _build_product(pk: int, pages: int | None) -> Product:
    # A page of a paperback weighs about a gram, and the cover of a book as much as 80 pages.
    grams = 80 + (pages or 320)
    return Product(pk=pk, price=synthetic.invent_price(pk), stock=synthetic.invent_stock(pk), grams=grams)


def _create_customers() -> list[int]:
    """Return the ids of customers: the authors of posts, more generated users, and the demo's shopper."""
    random = Random(SEED)
    names = dict.fromkeys(READER_NAMES)
    while len(names) < len(READER_NAMES) + CUSTOMER_COUNT:
        names[f"{random.choice(FIRST_NAMES)} {random.choice(LAST_NAMES)}"] = None
    ids = list(bulk.get_or_create_users(names).values())
    shoppers = [name for name, role in ROLES_BY_LOGIN.items() if role == "shopper"]
    ids += User.objects.filter(username__in=shoppers).values_list("pk", flat=True)
    return ids


def _invent_visits(now: datetime) -> list[Visit]:
    items = find_items()
    if not items:
        return []
    random = Random(SEED)
    found = []
    for user in _create_customers():
        tastes = _invent_tastes(random, items)
        ages = [random.uniform(1, HISTORY_DAYS) for _ in range(random.randint(2, 5))]
        for days in sorted(ages, reverse=True):
            visit = _invent_visit(random, user, tastes, now - timedelta(days=days))
            # A customer may order days after a visit, but not in the future.
            found.append(visit._replace(ordered=min(visit.ordered, now - timedelta(hours=1))))
    return found


def _invent_tastes(random: Random, items: list[Item]) -> list[list[Item]]:
    """Return the books of two kinds, as far as there are any, and all books."""
    tastes = []
    for kind in random.sample(BOOK_KINDS, 2):
        of_kind = [item for item in items if item.kind == kind]
        if of_kind:
            tastes.append(of_kind)
    return [*tastes, items]


def _invent_visit(random: Random, user: int, tastes: Sequence[Sequence[Item]], at: datetime) -> Visit:
    """Return a visit with views of books that match a customer's tastes.

    The customer buys some of them, often with the next book of the same kind.
    """
    views = []
    buys: dict[Item, None] = {}
    for _ in range(random.randint(3, 6)):
        kind = random.choice(tastes)
        item = _pick_popular(random, kind)
        views.append((item, at))
        at += timedelta(seconds=random.randrange(20, 400))
        if random.random() < 0.35:
            buys[item] = None
            # Always the same neighbour (0 and 1, 2 and 3, ...), so that pairs are bought more often than by chance.
            if random.random() < 0.5:
                neighbour = kind.index(item) ^ 1
                buys[kind[min(neighbour, len(kind) - 1)]] = None
    wait = timedelta(minutes=4) if random.random() < 0.7 else timedelta(hours=random.randrange(5, 220))
    return Visit(user, views, list(buys), at + wait)


def _pick_popular(random: Random, items: Sequence[Item]) -> Item:
    """Return a random item, the first items more often."""
    return items[int(len(items) * random.random() ** 1.8)]


def _add_visits(visits: Sequence[Visit], now: datetime) -> None:
    """Write views and orders in chronological order."""
    views, orders = [], []
    for visit in visits:
        if visit.buys:
            orders.append(visit)
        for item, at in visit.views:
            views.append(View(visitor=f"demo:{visit.user}", user_id=visit.user, book_id=item.pk, seen_at=at))
    views.sort(key=lambda view: (view.seen_at, view.user_id, view.book_id))
    for some in split_slices(views):
        bulk_insert(View, some)
    names = dict(User.objects.filter(pk__in={visit.user for visit in visits}).values_list("pk", "username"))
    orders.sort(key=lambda visit: visit.ordered)
    for some_orders in split_slices(list(enumerate(orders))):
        with transaction.atomic():
            _add_orders(dict(some_orders), names, now)


def _add_orders(visits: dict[int, Visit], names: dict[int, str], now: datetime) -> None:
    keys = {number: f"demo:{number}" for number in visits}
    orders = [_build_order(keys[number], number, visit, names[visit.user], now) for number, visit in visits.items()]
    bulk_insert(Order, orders)
    # Bulk inserts return no ids on every database, so the rows are found again by their keys.
    ids = dict(Order.objects.filter(key__in=keys.values()).values_list("key", "pk"))
    lines: list[OrderLine] = []
    for number, visit in visits.items():
        lines += [_build_line(ids[keys[number]], item) for item in visit.buys]
    bulk_insert(OrderLine, lines)
    paid = [order for order in orders if order.paid_at is not None]
    bulk_insert(Payment, [_build_payment(order, ids[order.key]) for order in paid])
    # The fake provider knows these charges, so that staff can refund them.
    bulk_insert(FakeCharge, [_build_charge(order) for order in paid])
    payments = dict(Payment.objects.filter(key__in=keys.values()).values_list("key", "pk"))
    events = (_build_events(order, ids[order.key], payments.get(order.key)) for order in orders)
    bulk_insert(OrderEvent, chain.from_iterable(events))


def _build_line(order_id: int, item: Item) -> OrderLine:
    return OrderLine(order_id=order_id, product_id=item.pk, title=item.title, quantity=1, price=item.price)


def _build_charge(order: Order) -> FakeCharge:
    at = order.paid_at
    assert at is not None  # only paid orders have a charge
    return FakeCharge(key=order.key, amount=order.total, succeeds=True, answers_at=at, created_at=at)


def _build_events(order: Order, order_id: int, payment_id: int | None) -> Iterator[OrderEvent]:
    """Yield the steps that the services record."""
    steps = [
        (EventKind.ORDERED, order.created_at),
        (EventKind.PAID, order.paid_at),
        (EventKind.CANCELLED, order.cancelled_at),
        (EventKind.SENT, order.sent_at),
    ]
    for kind, at in steps:
        if at is not None:
            paid_with = payment_id if kind is EventKind.PAID else None
            buyer = order.user_id if kind is EventKind.ORDERED else None
            yield OrderEvent(order_id=order_id, kind=kind, payment_id=paid_with, by_id=buyer, created_at=at)


def _build_payment(order: Order, order_id: int) -> Payment:
    times = {"created_at": order.paid_at, "updated_at": order.paid_at, "ask_at": order.paid_at}
    reference = f"demo-{order_id}"
    return Payment(
        order_id=order_id,
        key=order.key,
        state=PaymentState.SUCCEEDED,
        amount=order.total,
        reference=reference,
        **times,
    )


def _build_order(key: str, number: int, visit: Visit, name: str, now: datetime) -> Order:
    """Return an order that was sent, a cancelled one for one in thirty numbers, or one of today that is to be sent."""
    at = visit.ordered
    state, times = OrderState.SENT, {"paid_at": at, "sent_at": at + timedelta(days=1)}
    if number % 30 == 7:
        state, times = OrderState.CANCELLED, {"cancelled_at": at}
    elif times["sent_at"] > now:
        state, times = OrderState.PAID, {"paid_at": at}
    is_sent = state == OrderState.SENT
    return Order(
        user_id=visit.user,
        key=key,
        state=state,
        total=sum(item.price for item in visit.buys),
        email="reader@diptych.invalid",
        name=name,
        address="1 Quay Street\nHARROGATE\nHG1 1AA\nUNITED KINGDOM",
        country="GB",
        carrier="Royal Mail" if is_sent else "",
        tracking_number=f"DM{number:09}GB" if is_sent else "",
        address_parts={"street": "1 Quay Street", "city": "Harrogate", "postcode": "HG1 1AA"},
        created_at=at,
        reserved_until=at,
        confirmed_at=at,
        **times,
    )
