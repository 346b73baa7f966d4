"""The books that a reader waits for, and the forms that add and remove them."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from common.ids import parse_id
from common.paths import make_path
from common.refusals import Refused
from common.web import (
    get_next_address,
    get_user_id,
    is_partial,
    json_error,
    json_response,
    personal_page,
    redirect_to,
    wants_json,
)
from shop.models import AlertKind
from shop.selectors.stock_alerts import list_alerts
from shop.services import stock_alerts


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def alerts(request: HttpRequest) -> HttpResponse:
    """List the books that the reader waits for. POST adds or removes a product (``add`` or ``remove``).

    With ``kind`` "price" the reader waits for a lower price, otherwise for copies.
    """
    if request.method == "POST":
        return _change(request)
    found = list_alerts(get_user_id(request))
    if wants_json(request):
        results = [
            {
                "product": each.product_id,
                "title": each.title,
                "since": each.created_at,
                "kind": each.kind,
                "price": each.cents,
            }
            for each in found
        ]
        return json_response({"results": results})
    return render(request, "shop/alerts.html", {"alerts": found})


def _change(request: HttpRequest) -> HttpResponse:
    user_id, target = get_user_id(request), get_next_address(request, make_path("shop:alerts"))
    product_id = parse_id(request.POST.get("add", ""))
    kind = AlertKind.PRICE if request.POST.get("kind") == AlertKind.PRICE else AlertKind.STOCK
    try:
        if product_id is None:
            stock_alerts.remove_alert(user_id, parse_id(request.POST.get("remove", "")) or 0, kind)
        else:
            stock_alerts.add_alert(user_id, product_id, kind)
    except Refused as refusal:
        if is_partial(request):
            return _render_alert(request, product_id or 0, kind, error=str(refusal))
        if wants_json(request):
            return json_error(str(refusal), 409)
        messages.error(request, str(refusal))
        return redirect_to(target)
    if is_partial(request):
        shown = product_id or parse_id(request.POST.get("remove", "")) or 0
        return _render_alert(request, shown, kind, waits=product_id is not None)
    if wants_json(request):
        return json_response({"waits": product_id is not None})
    if product_id is not None:
        is_price = kind == AlertKind.PRICE
        promise = (
            _("We will tell you when the price drops.")
            if is_price
            else _("We will tell you when this book is back in stock.")
        )
        messages.success(request, promise)
    return redirect_to(target)


def _render_alert(request: HttpRequest, product_id: int, kind: AlertKind, **context: Any) -> HttpResponse:
    """Render the form on the page of a book, for htmx. context: ``waits`` or ``error``."""
    shown = {"product_id": product_id, "kind": kind, "is_part": True, **context}
    return render(request, "shop/_alert.html", shown)
