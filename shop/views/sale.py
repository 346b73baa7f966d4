"""The sale page: current and coming sales, with prices and stock."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.views.decorators.http import require_safe

from common.public_pages import public_page
from common.web import is_partial, json_response, wants_json
from shop.selectors.sales import SaleView, get_sales, make_page_version


@require_safe
@public_page()
def sale(request: HttpRequest) -> HttpResponse:
    """Show the page.

    htmx polls with the version that it shows and receives the stock alone. If more than numbers has changed, it is told
    to reload the page.
    """
    sales = get_sales()
    version = make_page_version(sales)
    if wants_json(request):
        response = json_response({"sales": [_sale_as_json(each) for each in sales]})
        add_never_cache_headers(response)
    elif is_partial(request) and "version" in request.GET:
        if request.GET["version"] == version:
            response = render(request, "shop/_sale_stock.html", {"sales": sales, "again": True})
        else:
            response = HttpResponse(status=204, headers={"HX-Refresh": "true"})
        add_never_cache_headers(response)
    else:
        poll = max(1, round(min((each.delay for each in sales), default=60)))
        response = render(request, "shop/sale.html", {"sales": sales, "version": version, "poll": poll})
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def _sale_as_json(sale: SaleView) -> dict[str, Any]:
    """Return the JSON of a sale. Times are in seconds since 1970, prices in cents; as_of: the time of the stock."""
    products = [
        {
            "id": offer.id,
            "title": offer.title,
            "authors": offer.authors,
            "price": offer.cents,
            "was": offer.was,
            "later": offer.later,
            "available": offer.left,
            "as_of": offer.as_of,
        }
        for offer in sale.offers
    ]
    fields = {"id": sale.id, "name": sale.name, "starts": sale.starts, "ends": sale.ends, "is_on": sale.is_on}
    return {**fields, "seconds_left": sale.seconds_left, "more": sale.more, "products": products}
