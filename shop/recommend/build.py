"""Compute all recommendations and write those that have changed."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from django.db import IntegrityError, transaction

from common import clock
from mirror.utils import CountCallback, ignore
from shop.models import Product, Recommendation
from shop.recommend import history
from shop.recommend.also_bought import find_also_bought
from shop.recommend.bought_after_view import find_bought_after_view
from shop.recommend.history import ProductViews, Purchases

PRODUCTS_PER_SLICE: Final = 100  # products per transaction, whose views are in memory at once


class RecommendationLists(NamedTuple):
    """The lists of one product, as the fields of ``Recommendation`` store them."""

    bought: list[Any]
    viewbuy: list[Any]


@dataclass
class RebuildResult:
    """The result of a rebuild.

    products: products considered. bought, viewbuy: products with recommendations of that kind. changed, removed: rows.
    """

    purchases: int = 0
    products: int = 0
    bought: int = 0
    viewbuy: int = 0
    changed: int = 0
    removed: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)


def rebuild_recommendations(told: CountCallback = ignore) -> RebuildResult:
    """Compute all recommendations while the site runs. ``told`` is called with the number of products after each slice.

    Interrupted and concurrent runs are safe: each slice is one transaction, and unchanged rows are not written.
    """
    bought = history.load_purchases()
    done = RebuildResult(purchases=len(bought))
    numbers = {int(pk): number for number, pk in enumerate(bought.products)}
    for ids in _iterate_product_slices():
        rows = _compute_rows(bought, numbers, ids)
        try:
            _write_rows(ids, rows, done)
        # A product was deleted meanwhile. The second attempt does not see it.
        except IntegrityError:
            _write_rows(ids, rows, done)
        done.products += len(ids)
        done.bought += sum(bool(row.bought) for row in rows.values())
        done.viewbuy += sum(bool(row.viewbuy) for row in rows.values())
        told(len(ids))
    return done


def _iterate_product_slices() -> Iterator[list[int]]:
    """Yield the ids of all products in slices."""
    last = 0
    while ids := list(
        Product.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:PRODUCTS_PER_SLICE]
    ):
        last = ids[-1]
        yield ids


def _compute_rows(bought: Purchases, numbers: dict[int, int], ids: Sequence[int]) -> dict[int, RecommendationLists]:
    """Return the recommendations of these products, without products that have none."""
    views = history.load_views(ids)
    found = {
        pk: RecommendationLists(
            _compute_also_bought(bought, numbers.get(pk)), _compute_bought_after(bought, views.get(pk), pk)
        )
        for pk in ids
    }
    return {pk: row for pk, row in found.items() if any(row)}


def _compute_also_bought(bought: Purchases, number: int | None) -> list[list[Any]]:
    if number is None:
        return []
    return [[int(bought.products[other]), score, both] for other, score, both in find_also_bought(bought, number)]


def _compute_bought_after(bought: Purchases, views: ProductViews | None, pk: int) -> list[list[Any]]:
    if views is None:
        return []
    return [[int(bought.products[other]), *rest] for other, *rest in find_bought_after_view(bought, views, pk)]


def _write_rows(ids: Sequence[int], rows: dict[int, RecommendationLists], done: RebuildResult) -> None:
    """Write these recommendations and delete those of other products in ``ids``."""
    with transaction.atomic():
        there = set(Product.objects.filter(pk__in=rows).values_list("pk", flat=True))
        stored = Recommendation.objects.filter(pk__in=ids)
        old = {pk: (bought, viewbuy) for pk, bought, viewbuy in stored.values_list("pk", "bought", "viewbuy")}
        changed = [
            Recommendation(pk=pk, bought=row.bought, viewbuy=row.viewbuy, built_at=clock.now())
            for pk, row in rows.items()
            if pk in there and old.get(pk) != row
        ]
        Recommendation.objects.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["product"],
            update_fields=["bought", "viewbuy", "built_at"],
        )
        done.changed += len(changed)
        if gone := old.keys() - rows.keys():
            done.removed += stored.filter(pk__in=gone).delete()[0]
