"""Pages of a customer's own orders, in HTML and in JSON (``Accept: application/json``)."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from config.answers import json, personal, wants_json
from config.redirects import redirect_to_view
from shop.orders import LARGEST_ID, OrderView, order_of, orders_of
from shop.services.errors import NotYours, TooLate
from shop.services.orders import cancel
from shop.views.answers import error


@require_safe
@personal
def orders(request: HttpRequest) -> HttpResponse:
    """List the user's orders, newest first, from ``?after=`` on. The template receives ``page``, a
    ``shop.orders.OrderPage``.
    """
    page = orders_of(_me(request), _after(request.GET.get("after", "")))
    next_url = None if page.after is None else f"{request.path}?after={page.after}"
    if wants_json(request):
        return json({"results": [order.brief() for order in page.orders], "next": next_url})
    return render(request, "shop/orders.html", {"page": page, "next_url": next_url})


@require_safe
@personal
def order(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one of the user's orders. The template receives ``view``, a ``shop.orders.OrderView``."""
    view = _mine(request, pk)
    if wants_json(request):
        return json(view.full()) if view else _none()
    if view is None:
        raise Http404
    return render(request, "shop/order.html", {"view": view})


@require_http_methods(["GET", "HEAD", "POST"])
@personal
def cancel_order(request: HttpRequest, pk: int) -> HttpResponse:
    """GET asks for confirmation. POST cancels the order; a cancelled order stays cancelled."""
    view = _mine(request, pk)
    if view is None:
        if wants_json(request):
            return _none()
        raise Http404
    if request.method != "POST":
        return render(request, "shop/cancel_order.html", {"view": view}) if view.can_be_cancelled else _back(pk)
    try:
        cancel(pk, request.user)  # type: ignore[arg-type]
    except (NotYours, TooLate) as refusal:
        if wants_json(request):
            return error(str(refusal), 409)
        messages.error(request, str(refusal))
        return _back(pk)
    if wants_json(request):
        now = _mine(request, pk)
        return json(now.full()) if now else _none()
    messages.success(request, _("Your order was cancelled."))
    return _back(pk)


def _me(request: HttpRequest) -> int:
    return int(request.user.pk or 0)


def _mine(request: HttpRequest, pk: int) -> OrderView | None:
    return order_of(_me(request), pk)


def _none() -> HttpResponse:
    return error(str(NotYours()), 404)


def _back(pk: int) -> HttpResponse:
    return redirect_to_view("shop:order", pk)


def _after(text: str) -> int | None:
    """Parse the id in the URL. Return None, which means the first page, if it is invalid."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST_ID))
    return min(int(text), LARGEST_ID) if is_number else None
