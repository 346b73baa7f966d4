"""Current and coming sales with the stock of each product, from the row cache or from SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final

import orjson
from django.conf import settings

from common import clock
from mirror import Question, Record, answer
from mirror.conf import setting
from mirror.redis import RedisPipeline
from shop import keys
from shop.catalog_hooks.buy_box import MAX_FEW_COPIES
from shop.models import Sale
from shop.products.prices import get_price_at
from shop.products.records import load_sales, make_sale_record
from shop.rowcache.rows import BOOK_FIELDS, LIFETIME_FACTOR, load_rows
from shop.selectors.products import get_products_and_books

MAX_SALES: Final = 6  # shown sales, ordered by their end
MAX_COUNTED_COPIES: Final = 9  # copies; the page of sales shows the number if at most this many are left


@dataclass(frozen=True)
class Offer:
    """A product in a sale.

    book: id, title, authors, author ids, cover and design of its book. left: copies that can be bought. as_of: the time
    of that stock, in seconds since 1970. cents: the current price. was: the usual price, if it is higher. later: the
    price once a coming sale begins. Prices are in cents.
    """

    id: int
    book: Record
    cents: int
    was: int | None
    later: int | None
    left: int
    as_of: float

    @property
    def is_few(self) -> bool:
        """Whether few copies are left, so that the page shows their number."""
        return 0 < self.left <= MAX_FEW_COPIES

    @property
    def is_counted(self) -> bool:
        """Whether the page of sales shows the number of copies."""
        return 0 < self.left <= MAX_COUNTED_COPIES

    @property
    def title(self) -> str:
        """The title of the book."""
        return str(self.book["title"])

    @property
    def authors(self) -> list[str]:
        """The names of the authors."""
        return list(self.book["authors"])

    @property
    def author(self) -> str:
        """The first author."""
        return self.authors[0] if self.authors else ""


@dataclass(frozen=True)
class SaleView:
    """A sale as pages show it at the time ``now``. Times are in seconds since 1970. more: the number of products not
    shown.
    """

    id: int
    name: str
    starts: float
    ends: float
    now: float
    offers: list[Offer]
    more: int

    @property
    def is_on(self) -> bool:
        """Whether the sale has begun."""
        return self.starts <= self.now

    @property
    def next_at(self) -> datetime:
        """The end of a current sale, or the start of a coming one."""
        return datetime.fromtimestamp(self.ends if self.is_on else self.starts, UTC)

    @property
    def seconds_left(self) -> int:
        """The seconds until ``next_at``."""
        return max(0, round(self.next_at.timestamp() - self.now))

    @property
    def as_of(self) -> datetime:
        """The time of the oldest stock among the offers."""
        return datetime.fromtimestamp(min((offer.as_of for offer in self.offers), default=self.now), UTC)

    @property
    def age(self) -> float:
        """The age of the oldest stock, in seconds."""
        return round(self.now - self.as_of.timestamp(), 1)

    @property
    def delay(self) -> float:
        """The period in which the rows of this sale are cached, in seconds."""
        return float(settings.SHOP_SALE_ROW_SECONDS if self.is_on else settings.SHOP_ROW_SECONDS)

    @property
    def stale_after(self) -> float:
        """The age of the stock, in seconds, from which the page warns of it."""
        return LIFETIME_FACTOR * self.delay


def get_sales() -> list[SaleView]:
    """Return current and coming sales, ordered by their end.

    With warm mirrors and cached rows it takes no SQL, and one round trip if the same sales and products were shown last
    time, else three. Missing rows cost one more. While Redis is away, all data comes from SQL.
    """
    moment = clock.now().timestamp()
    found = _read_from_redis(moment)
    return _load_from_sql(moment) if found is None else found


def make_page_version(sales: Sequence[SaleView]) -> str:
    """Return a digest of everything on the page except counts. When it changes, the page must be reloaded."""
    facts = [(s.id, s.is_on, s.ends, [(o.id, o.cents, o.later, o.left > 0) for o in s.offers]) for s in sales]
    return sha256(repr(facts).encode()).hexdigest()[:16]


# Guessed here: the query of the sales contains the time, so no two requests send the same commands.
# The sales and products that were shown last, and are likely to be shown again.
_last_shown: tuple[list[int], list[int]] = ([], [])


def _read_from_redis(moment: float) -> list[SaleView] | None:
    """Return the sales, or None if Redis cannot answer.

    Each attempt reads the sales and products that the previous one found, until they are complete.
    """
    global _last_shown
    sales, products = _last_shown
    # A guess, then sales, then products; one more if a sale changes meanwhile.
    for _ in range(4):
        # No reader, because the cached rows are not mirrored, and a row without a recent time is not an answer.
        ask = partial(_queue_reads, moment, sales, products)
        replies = answer(Question[list[Any] | None](["sale"], ask, list, lambda: None))
        if replies is None:
            return None
        ids, raws, *rows = replies
        wanted = [int(pk) for pk in ids]
        known = {pk: orjson.loads(raw) for pk, raw in zip(sales, raws, strict=False) if raw}
        on_page = _shown_product_ids(record for pk, record in known.items() if pk in wanted)
        if set(wanted) <= set(sales) and set(on_page) <= set(products):
            _last_shown = wanted, on_page
            cached = {pk: orjson.loads(raw) for pk, raw in zip(products, rows, strict=True) if raw}
            return _make_sale_views([known[pk] for pk in wanted if pk in known], cached, moment)
        sales, products = wanted, on_page
    return None


def _queue_reads(moment: float, sales: Sequence[int], products: Sequence[int], pipe: RedisPipeline) -> None:
    pipe.zrangebyscore(keys.sales_by_end(), f"({moment!r}", "+inf", start=0, num=MAX_SALES)
    # MGET needs a key, and no sale has the id 0.
    pipe.mget([keys.sale(pk) for pk in sales] or [keys.sale(0)])
    for pk in products:
        pipe.get(keys.cached_row(pk))


def _shown_product_ids(records: Any) -> list[int]:
    """Return the ids of the shown products of these sales, without duplicates."""
    return list(dict.fromkeys(item["id"] for record in records for item in record["products"]))


def _load_from_sql(moment: float) -> list[SaleView]:
    rows = Sale.objects.using(setting("DATABASE")).ending_after(clock.now()).order_by("ends_at")
    ids = list(rows.values_list("pk", flat=True)[:MAX_SALES])
    found = load_sales(ids)
    records = [make_sale_record(found[str(pk)]) for pk in ids if str(pk) in found]
    cached = {int(pk): row for pk, row in load_rows(_shown_product_ids(records), moment).items()}
    return _make_sale_views(records, cached, moment)


def _make_sale_views(records: Sequence[Record], cached: Mapping[int, Record], moment: float) -> list[SaleView]:
    """Return sales with their offers. Products without a recent cached row are read from their mirrors."""
    wanted = _shown_product_ids(records)
    rows = {
        pk: row
        for pk, row in cached.items()
        if moment - row["cached_at"] <= LIFETIME_FACTOR * row.get("delay", 1.0) and row.keys() >= set(BOOK_FIELDS)
    }
    if missing := [pk for pk in wanted if pk not in rows]:
        products, books = get_products_and_books(missing)
        for pk, product in products.items():
            if book := books.get(pk):
                rows[pk] = {**product, **{name: book[name] for name in BOOK_FIELDS}, "cached_at": moment}
    return [_make_sale_view(record, rows, moment) for record in records]


def _make_sale_view(record: Record, rows: Mapping[int, Record], moment: float) -> SaleView:
    is_on = record["starts"] <= moment
    offers = [
        _make_offer(rows[item["id"]], item["price"], is_on, moment)
        for item in record["products"]
        if item["id"] in rows and rows[item["id"]]["is_active"]
    ]
    return SaleView(record["id"], record["name"], record["starts"], record["ends"], moment, offers, record["more"])


def _make_offer(row: Record, sale_price: int, is_on: bool, moment: float) -> Offer:
    usual, cents = row["price"], get_price_at(row, moment).cents
    if is_on:
        cents = min(cents, sale_price)
    was = usual if cents < usual else None
    later = sale_price if not is_on and sale_price < cents else None
    book = {"id": row["id"], **{name: row[name] for name in BOOK_FIELDS}}
    left = max(0, row["available"])
    return Offer(row["id"], book, cents, was, later, left, row["cached_at"])
