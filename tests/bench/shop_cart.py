"""Compare a write to a cart through the service with a row per cart line in SQL, unique by cart and product.

Both sides first check that the product is for sale. Ours includes the drain to Redis.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.db import connection, models
from django.utils import timezone

from accounts.models import Session
from catalog.models import Book
from mirror.models import Change
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from shop.carts.reading import read_cart
from shop.models import Cart, Product
from shop.services.carts import set_line
from tests.bench.table import Comparison
from tests.support.accounts.digests import digest

CARTS, LINES = 100, 4


class CartLine(models.Model):  # noqa: DJ008
    """A cart line in SQL only."""

    cart = models.CharField(max_length=64)
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="+")
    quantity = models.PositiveIntegerField()

    class Meta:
        app_label = "shop"
        managed = False
        db_table = "bench_cartline"
        constraints = [models.UniqueConstraint(fields=["cart", "product"], name="bench_cartline_once")]


def comparisons() -> Iterator[Comparison]:
    """Yield the comparisons of a write and of a read."""
    with connection.schema_editor() as editor:
        editor.create_model(CartLine)
    books = Book.objects.bulk_create(Book(title=f"bench {number}") for number in range(LINES))
    products = [Product.objects.create(book=book, price=1000, stock=100).pk for book in books]
    expires = timezone.now() + timedelta(days=1)
    digests = [digest(number) for number in range(CARTS)]
    Session.objects.bulk_create(Session(session_key=each, session_data="", expire_date=expires) for each in digests)
    Change.objects.all()._raw_delete("default")
    rebuild(["product", "cart"])
    sizes = f"{CARTS:,} carts of {LINES} lines, one after the other"
    yield Comparison(
        "a write to a cart",
        "update_or_create of a line",
        sizes,
        ours=lambda: _write(digests, products),
        theirs=lambda: _write_sql(digests, products),
        target=0.7,
        before=_clear,
    )
    _clear()
    _write(digests, products)
    _write_sql(digests, products)
    yield Comparison(
        "reading a cart",
        "its lines by the ORM",
        f"{CARTS:,} carts of {LINES} lines",
        ours=lambda: [read_cart(each) for each in digests],
        theirs=lambda: [
            dict(CartLine._base_manager.filter(cart=each).values_list("product", "quantity")) for each in digests
        ],
    )
    _clear()
    Book.objects.filter(pk__in=products).delete()
    Session.objects.filter(pk__in=digests).delete()


def _write(digests: Sequence[str], products: Sequence[int]) -> None:
    for product in products:
        for each in digests:
            set_line(each, product, 2)


def _write_sql(digests: Sequence[str], products: Sequence[int]) -> None:
    for product in products:
        for each in digests:
            Product.objects.for_sale().get(pk=product)
            CartLine._base_manager.update_or_create(cart=each, product_id=product, defaults={"quantity": 2})


def _clear() -> None:
    """Delete the carts of both sides."""
    CartLine._base_manager.all()._raw_delete("default")
    Cart.objects.all()._raw_delete("default")
    drain_all()
