"""Purchases and views as arrays. All purchases are read at once, in a few bytes each; views only for given products."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import numpy as np
from django.db.models import QuerySet

from shop.book_views.retention import get_kept_since
from shop.models import OrderLine, OrderState, View

IntArray = np.ndarray[Any, np.dtype[np.integer[Any]]]

PURCHASED_STATES: Final = (OrderState.PAID, OrderState.SENT)  # cancelled and unpaid orders are no purchases
ROWS_PER_QUERY: Final = 20_000  # rows per query
# Latest purchases per customer: more are not a reader's, and the cost grows with the square.
MAX_PURCHASES_PER_CUSTOMER: Final = 1000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class RaggedArray:
    """Lists of different lengths in one array: the list of owner n is ``values[starts[n]:starts[n + 1]]``."""

    def __init__(self, owners: IntArray, values: IntArray, count: int) -> None:
        order = np.argsort(owners, kind="stable")
        self.values = values[order]
        self.sizes = np.bincount(owners, minlength=count)
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)))

    def of(self, owner: int) -> IntArray:
        """Return the list of one owner."""
        return self.values[self.starts[owner] : self.starts[owner + 1]]

    def find_indices(self, owners: IntArray) -> IntArray:
        """Return the indices of the values of these owners, one owner after the other."""
        sizes = self.sizes[owners]
        before = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[owners] - before, sizes) + np.arange(sizes.sum())


@dataclass(frozen=True)
class Purchases:
    """All purchases, as three arrays of equal length.

    customer and product are numbers from 0, and ``people`` and ``products`` map them to ids in rising order. time:
    seconds since 1970.
    """

    people: IntArray
    products: IntArray
    customer: IntArray
    product: IntArray
    time: IntArray

    @classmethod
    def of(cls, people: IntArray, products: IntArray, times: IntArray) -> "Purchases":
        """Build the arrays from ids of users and products, with at most the latest ``MOST`` purchases of each user."""
        kept = _find_newest(people, times)
        ids, customer = np.unique(people[kept], return_inverse=True)
        names, product = np.unique(products[kept], return_inverse=True)
        return cls(ids, names, customer.astype(np.int32), product.astype(np.int32), times[kept])

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        """The distinct pairs of customer and product."""
        width = max(len(self.products), 1)
        pairs = np.unique(self.customer.astype(np.int64) * width + self.product)
        return (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)

    @cached_property
    def baskets(self) -> RaggedArray:
        """The distinct products of each customer."""
        return RaggedArray(*self._pairs, len(self.people))

    @cached_property
    def buyers(self) -> RaggedArray:
        """The distinct customers of each product."""
        customer, product = self._pairs
        return RaggedArray(product, customer, len(self.products))

    @cached_property
    def shared(self) -> IntArray:
        """The number of customers of each product who also bought another product."""
        customer, product = self._pairs
        return np.bincount(product[self.baskets.sizes[customer] > 1], minlength=len(self.products))

    @cached_property
    def by_customer(self) -> RaggedArray:
        """The indices of the purchases of each customer."""
        return RaggedArray(self.customer, np.arange(len(self)), len(self.people))


def _find_newest(people: IntArray, times: IntArray) -> IntArray:
    """Return the indices of the rows that are among the latest ``MOST`` of their customer."""
    order = np.lexsort((-times, people))
    sorted_people = people[order]
    first = np.concatenate(([True], sorted_people[1:] != sorted_people[:-1])) if len(order) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    return np.sort(order[np.arange(len(order)) - begin < MAX_PURCHASES_PER_CUSTOMER])


def load_purchases() -> Purchases:
    """Read all purchases that are paid and not refunded. Those of deleted users are left out."""
    found = list(_iterate_columns(_query_purchases()))
    columns = [np.concatenate(part) for part in zip(*found, strict=True)] or [np.zeros(0, np.int64)] * 3
    return Purchases.of(*columns)


def _query_purchases() -> QuerySet[OrderLine, tuple[Any, ...]]:
    lines = OrderLine.objects.filter(order__state__in=PURCHASED_STATES, order__user__isnull=False)
    return lines.values_list("pk", "order__user_id", "product_id", "order__created_at")


def _iterate_columns(rows: QuerySet[OrderLine, tuple[Any, ...]]) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield slices of user ids, product ids and times."""
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk")[:ROWS_PER_QUERY]):
        last = some[-1][0]
        yield _make_arrays(row[1:] for row in some)


@dataclass(frozen=True)
class ProductViews:
    """The views of one product, as two arrays of equal length, sorted by user and time."""

    people: IntArray
    time: IntArray

    @cached_property
    def viewer_count(self) -> int:
        """The number of distinct users."""
        return len(np.unique(self.people))


def load_views(products: Sequence[int]) -> dict[int, ProductViews]:
    """Return the views of these products by users, by product id, as far back as views are kept."""
    found = View.objects.filter(book_id__in=products, user__isnull=False, seen_at__gte=get_kept_since())
    rows = found.values_list("user_id", "book_id", "seen_at")
    people, book, time = _make_arrays(rows.iterator(ROWS_PER_QUERY))
    order = np.lexsort((time, people, book))
    people, book, time = people[order], book[order], time[order]
    ids, starts = np.unique(book, return_index=True)
    ends = np.append(starts[1:], len(book))[: len(ids)]
    return {int(pk): ProductViews(people[a:b], time[a:b]) for pk, a, b in zip(ids, starts, ends, strict=True)}


def _make_arrays(rows: Iterable[tuple[int, int, datetime]]) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows of (user, product, time) as three arrays."""
    kind = np.dtype([("who", np.int64), ("what", np.int64), ("when", np.int64)])
    found = np.fromiter(((who, what, _to_seconds(when)) for who, what, when in rows), kind)
    return found["who"], found["what"], found["when"]


def _to_seconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(seconds=1)
