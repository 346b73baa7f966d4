"""Who bought what, and who looked at what, as arrays: few bytes a purchase; of the looks those that are asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import numpy as np
from django.db.models import QuerySet

from shop.models import OrderLine, State, View
from shop.viewing.keeping import kept_since

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]

COUNTS: Final = (State.PAID, State.SENT)  # what was cancelled, or never paid, was not bought
CHUNK: Final = 20_000  # rows a query
MOST: Final = 1000  # of one customer's products, the last bought: who buys more is no reader, and costs its square
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Ragged:
    """Lists of different lengths in one array: those of owner n are ``values[starts[n]:starts[n + 1]]``."""

    def __init__(self, owners: Ints, values: Ints, count: int) -> None:
        order = np.argsort(owners, kind="stable")
        self.values = values[order]
        self.sizes = np.bincount(owners, minlength=count)
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)))

    def of(self, owner: int) -> Ints:
        """One's own."""
        return self.values[self.starts[owner] : self.starts[owner + 1]]

    def places(self, owners: Ints) -> Ints:
        """Where the values of all of these are, one owner after the other."""
        sizes = self.sizes[owners]
        before = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[owners] - before, sizes) + np.arange(sizes.sum())


@dataclass(frozen=True)
class Purchases:
    """What was bought: three arrays of one length. Customers and products are numbered from 0; ``people`` and
    ``products`` are their ids, rising. times: seconds since 1970.
    """

    people: Ints
    products: Ints
    customer: Ints
    product: Ints
    time: Ints

    @classmethod
    def of(cls, people: Ints, products: Ints, times: Ints) -> "Purchases":
        """From the ids of who bought and what. Of each customer at most the last ``MOST``."""
        kept = _newest(people, times)
        ids, customer = np.unique(people[kept], return_inverse=True)
        names, product = np.unique(products[kept], return_inverse=True)
        return cls(ids, names, customer.astype(np.int32), product.astype(np.int32), times[kept])

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """Who bought what, each once however often."""
        width = max(len(self.products), 1)
        pairs = np.unique(self.customer.astype(np.int64) * width + self.product)
        return (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)

    @cached_property
    def baskets(self) -> Ragged:
        """The products of each customer, each once."""
        return Ragged(*self._pairs, len(self.people))

    @cached_property
    def buyers(self) -> Ragged:
        """The customers of each product, each once."""
        customer, product = self._pairs
        return Ragged(product, customer, len(self.products))

    @cached_property
    def shared(self) -> Ints:
        """How many customers have bought each product and something else as well."""
        customer, product = self._pairs
        return np.bincount(product[self.baskets.sizes[customer] > 1], minlength=len(self.products))

    @cached_property
    def by_customer(self) -> Ragged:
        """Which purchases each customer made."""
        return Ragged(self.customer, np.arange(len(self)), len(self.people))


def _newest(people: Ints, times: Ints) -> Ints:
    """Which rows are among the last ``MOST`` of their customer."""
    order = np.lexsort((-times, people))
    sorted_people = people[order]
    first = np.concatenate(([True], sorted_people[1:] != sorted_people[:-1])) if len(order) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    return np.sort(order[np.arange(len(order)) - begin < MOST])


def purchases() -> Purchases:
    """All that customers have bought: paid for and not given back. Who was deleted is nobody."""
    found = list(_columns(_bought()))
    columns = [np.concatenate(part) for part in zip(*found, strict=True)] or [np.zeros(0, np.int64)] * 3
    return Purchases.of(*columns)


def _bought() -> QuerySet[OrderLine, tuple[Any, ...]]:
    lines = OrderLine.objects.filter(order__state__in=COUNTS, order__user__isnull=False)
    return lines.values_list("pk", "order__user_id", "product_id", "order__created_at")


def _columns(rows: QuerySet[OrderLine, tuple[Any, ...]]) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Slices of ids of who and what, and times."""
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk")[:CHUNK]):
        last = some[-1][0]
        yield _arrays(row[1:] for row in some)


@dataclass(frozen=True)
class Looks:
    """Who looked at a product, and when: two arrays of one length, by person and time."""

    people: Ints
    time: Ints

    @cached_property
    def viewers(self) -> int:
        """How many different people."""
        return len(np.unique(self.people))


def looks(products: Sequence[int]) -> dict[int, Looks]:
    """The looks that known customers took at these products, by product: as far back as looks are kept."""
    found = View.objects.filter(book_id__in=products, user__isnull=False, seen_at__gte=kept_since())
    rows = found.values_list("user_id", "book_id", "seen_at")
    people, book, time = _arrays(rows.iterator(CHUNK))
    order = np.lexsort((time, people, book))
    people, book, time = people[order], book[order], time[order]
    ids, starts = np.unique(book, return_index=True)
    ends = np.append(starts[1:], len(book))[: len(ids)]
    return {int(pk): Looks(people[a:b], time[a:b]) for pk, a, b in zip(ids, starts, ends, strict=True)}


def _arrays(rows: Any) -> tuple[Ints, Ints, Ints]:
    """Rows of (who, what, when) as three arrays."""
    kind = np.dtype([("who", np.int64), ("what", np.int64), ("when", np.int64)])
    found = np.fromiter(((who, what, _seconds(when)) for who, what, when in rows), kind)
    return found["who"], found["what"], found["when"]


def _seconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(seconds=1)
