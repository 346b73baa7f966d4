"""The cards of offers, on the page of sales and in the strip of a sale. Each is rendered once for the same facts."""

from typing import Any, Final, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from common.form_parts import render_for
from common.rendered import remember_rendered
from shop.selectors.sales import Offer, SaleView

MAX_BYTES: Final = 4_000_000  # of remembered cards; each takes about 2 kB


class OfferFacts(NamedTuple):
    """All that a card shows. Prices are in cents. left: copies."""

    sale: int
    is_on: bool
    product: int
    title: str
    authors: tuple[str, ...]
    author_ids: tuple[int, ...]
    cover: str
    design: str
    cents: int
    was: int | None
    later: int | None
    left: int

    @property
    def context(self) -> dict[str, Any]:
        """The context of a template."""
        book: Any = {
            "id": self.product,
            "title": self.title,
            "authors": self.authors,
            "author_ids": self.author_ids,
            "cover": self.cover,
            "design": self.design,
        }
        offer = Offer(self.product, book, self.cents, self.was, self.later, self.left, as_of=0.0)
        return {"sale": {"id": self.sale, "is_on": self.is_on}, "offer": offer}


def _list_facts(sale: SaleView, offer: Offer) -> OfferFacts:
    book = offer.book
    authors, author_ids = tuple(book["authors"]), tuple(book["author_ids"])
    prices = offer.cents, offer.was, offer.later
    words = offer.title, authors, author_ids, book["cover"], book["design"]
    return OfferFacts(sale.id, sale.is_on, offer.id, *words, *prices, offer.left)


def percent_off(offer: Offer) -> int:
    """Return by how many percent the price is below the usual one, rounded down; 0 if it is not reduced."""
    return (offer.was - offer.cents) * 100 // offer.was if offer.was else 0


@pass_context
def render_offer(context: Context, sale: SaleView, offer: Offer) -> SafeString:
    """Return the card of an offer on the page of sales."""
    return render_for(context["request"], "shop/_offer.html", {"facts": _list_facts(sale, offer)})


def render_strip_offer(sale: SaleView, offer: Offer) -> SafeString:
    """Return the card of an offer in a strip, without the button and the end tag that follow it."""
    return _render_strip_offer(_list_facts(sale, offer))


@remember_rendered(MAX_BYTES)
def _render_strip_offer(facts: OfferFacts) -> SafeString:
    return render_to_string("shop/_strip_offer.html", facts.context)
