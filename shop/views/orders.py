"""Pages of a customer's own orders, in HTML and in JSON (``Accept: application/json``)."""

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from common.ids import parse_id
from common.web import get_user_id, json_error, json_response, personal_page, redirect_to_view, wants_json
from shop.selectors.orders import OrderView, get_order, list_orders
from shop.services import orders as order_services
from shop.services.errors import OrderNotFound, OrderStateRefused

MAX_COVERS: Final = 4  # of one order in the list


@require_safe
@personal_page
def orders(request: HttpRequest) -> HttpResponse:
    """List the user's orders, newest first, from ``?after=`` on. The template receives ``page``, a
    ``shop.selectors.orders.OrderPage``.
    """
    page = list_orders(get_user_id(request), parse_id(request.GET.get("after", "")))
    next_url = None if page.after is None else f"{request.path}?after={page.after}"
    if wants_json(request):
        return json_response({"results": [order.as_summary_json() for order in page.orders], "next": next_url})
    return render(request, "shop/orders.html", {"page": page, "next_url": next_url, "max_covers": MAX_COVERS})


@require_safe
@personal_page
def order(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one of the user's orders. The template receives ``view``, a ``shop.selectors.orders.OrderView``."""
    view = _get_own_order(request, pk)
    if wants_json(request):
        return json_response(view.as_json()) if view else _order_not_found()
    if view is None:
        raise Http404
    return render(request, "shop/order.html", {"view": view})


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def cancel_order(request: HttpRequest, pk: int) -> HttpResponse:
    """GET asks for confirmation. POST cancels the order; a cancelled order stays cancelled."""
    view = _get_own_order(request, pk)
    if view is None:
        if wants_json(request):
            return _order_not_found()
        raise Http404
    if request.method != "POST":
        return (
            render(request, "shop/cancel_order.html", {"view": view})
            if view.can_be_cancelled
            else _redirect_to_order(pk)
        )
    try:
        order_services.cancel_order(pk, request.user)  # type: ignore[arg-type]
    except (OrderNotFound, OrderStateRefused) as refusal:
        if wants_json(request):
            return json_error(str(refusal), 409)
        messages.error(request, str(refusal))
        return _redirect_to_order(pk)
    if wants_json(request):
        now = _get_own_order(request, pk)
        return json_response(now.as_json()) if now else _order_not_found()
    messages.success(request, _("Your order was cancelled."))
    return _redirect_to_order(pk)


def _get_own_order(request: HttpRequest, pk: int) -> OrderView | None:
    return get_order(get_user_id(request), pk)


def _order_not_found() -> HttpResponse:
    return json_error(str(OrderNotFound()), 404)


def _redirect_to_order(pk: int) -> HttpResponse:
    return redirect_to_view("shop:order", pk)
