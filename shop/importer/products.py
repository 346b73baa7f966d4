"""Create a product for each imported book."""

from collections.abc import Mapping

from django.db import transaction

from catalog.importer import ImportReport
from common.database import split_slices
from mirror.utils import ProgressCallback
from shop.importer import synthetic
from shop.models import Product


def import_products(books: Mapping[int, int], tally: ImportReport, progress: ProgressCallback) -> None:
    """Add missing products. books: primary keys by the numbers of the file."""
    for some in split_slices(books.items()):
        with transaction.atomic():
            ids = [pk for _, pk in some]
            there = set(Product.objects.filter(pk__in=ids).values_list("pk", flat=True))
            new = [
                Product(pk=pk, price=synthetic.invent_price(number), stock=synthetic.invent_stock(number))
                for number, pk in some
                if pk not in there
            ]
            Product.objects.bulk_create(new, ignore_conflicts=True)
        tally.added["products"] += len(new)
        progress("products", len(some))
