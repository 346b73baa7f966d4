"""Recommendations on the page of a book and in its JSON."""

from collections.abc import Iterator
from typing import Any, Final

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from catalog.books import BookRows, extras
from catalog.listing import BookRecord
from common.rendered import remember_rendered
from shop import keys
from shop.recommend import selectors
from shop.recommend.selectors import RecommendationRecord, RecommendationStrips, Recommended

MIN_SECOND: Final = 6  # books of the second strip; a shorter one leaves half of its line empty
MAX_BYTES: Final = 12_000_000  # of remembered cards; each takes about 2 kB


def register_extra() -> None:
    """Register recommendations with the catalogue. The stock of recommended books takes another round trip when it is
    needed.
    """
    extras.page_extras.register(
        extras.Extra(
            name="recommendations",
            mirrors=("recommendation",),
            add_commands=lambda pipe, pk: pipe.get(keys.recommendation(pk)),
            parse_replies=lambda pk, raw: None if raw is None else RecommendationRecord(raw),
            read_from_sql=selectors.load_from_sql,
            fields=lambda found: {"recommendations": as_json(found)},
        )
    )


def as_json(found: RecommendationRecord | None) -> dict[str, list[dict[str, Any]]]:
    """Return the JSON of recommendations, with prices in cents.

    viewbuy has the percentage of viewers; bought has the number of customers who bought both.
    """
    strips = found.strips if found else selectors.NO_STRIPS
    return {
        "viewbuy": [_item_as_json(one, "percent") for one in strips.viewbuy],
        "bought": [_item_as_json(one, "both") for one in strips.bought],
    }


def _item_as_json(one: Recommended, why: str) -> dict[str, Any]:
    book = one.book
    return {
        "id": book["id"],
        "title": book["title"],
        "authors": book["authors"],
        "price": one.product.now.cents,
        why: getattr(one, why),
    }


def render_strips(strips: RecommendationStrips) -> SafeString:
    """Render both strips, or nothing if both are empty. The second one has no book of the first one,
    and is left out below MIN_SECOND books.
    """
    if not any(strips):
        return SafeString()
    rows = BookRows()
    viewbuy, bought = (rows.fill(strip, selectors.MAX_SHOWN, lambda one: one.book["id"]) for strip in strips)
    if viewbuy and len(bought) < MIN_SECOND:
        bought = []
    shown = {"viewbuy": list(_render_cards(viewbuy)), "bought": list(_render_cards(bought))}
    return render_to_string("shop/_recommended.html", shown)


def _render_cards(strip: list[Recommended]) -> Iterator[SafeString]:
    for one in strip:
        price = one.product.now
        yield _render_card(one.book.raw, price.cents, price.was, one.percent)


@remember_rendered(MAX_BYTES)
def _render_card(raw: bytes, cents: int, was: int | None, percent: int | None) -> SafeString:
    given = {"book": BookRecord(raw), "cents": cents, "was": was, "percent": percent}
    return render_to_string("shop/_recommended_book.html", given)
