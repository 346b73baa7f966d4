"""The page of the cart, in HTML and in JSON (``Accept: application/json``)."""

from typing import Any, Final, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.answers import is_partial, json, wants_json
from config.redirects import next_address, redirect_to
from shop.books import get_books
from shop.carts.cart import CartNow, read
from shop.carts.link import know
from shop.carts.page import page_of
from shop.services import carts
from shop.services.carts import CartError
from shop.visitors import digest_of, ensure_digest

HERE: Final = "/shop/cart/"
LONGEST_NUMBER: Final = 18  # digits
SEE_OTHER: Final = 303


class Wish(NamedTuple):
    """A requested change of a line. is_more: add the quantity instead of setting it."""

    product_id: int
    quantity: int
    is_more: bool


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def cart(request: HttpRequest) -> HttpResponse:
    """GET shows the cart. The template receives ``page``, a ``shop.carts.page.CartPage``.

    POST takes ``product`` and ``quantity`` (0 removes the line), and adds the quantity with ``add`` (not "0"). The
    response is the cart as JSON, as the part of the page that htmx asks for, or a redirect to the page. A visitor who
    adds from another page stays there: htmx receives a confirmation, other clients are redirected to ``next``. A
    refused change gives 400 and the reason, in JSON as ``{"error": {"message", "field", "product"}}``.
    """
    response = _change(request) if request.method == "POST" else _show(request, read(digest_of(request)))
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def _change(request: HttpRequest) -> HttpResponse:
    try:
        wish = _wish(request)
        now = _done(request, wish)
    except CartError as error:
        return _show(request, read(digest_of(request)), error)
    if is_partial(request) and wish.is_more:
        return _show_added(request, wish, now)
    if wants_json(request) or is_partial(request):
        return _show(request, now)
    messages.success(request, _told(wish))
    return redirect_to(next_address(request, HERE), status=SEE_OTHER)


def _show_added(request: HttpRequest, wish: Wish, now: CartNow) -> HttpResponse:
    know(request, now)
    page = page_of(now)
    line = next((line for line in page.lines if line.product_id == wish.product_id), None)
    return render(request, "shop/_added.html", {"page": page, "line": line, "said": _told(wish)})


def _wish(request: HttpRequest) -> Wish:
    """Parse the requested change. Raises CartError."""
    product = _number(request.POST.get("product", ""))
    if product is None or product < 0:
        raise CartError(_("Product not found."), "product")
    quantity = _number(request.POST.get("quantity", ""))
    if quantity is None:
        raise CartError(_("Enter the quantity as a number."))
    return Wish(product, quantity, _is_more(request))


def _is_more(request: HttpRequest) -> bool:
    return request.POST.get("add", "") not in ("", "0")


def _number(text: str) -> int | None:
    digits = text.strip().removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST_NUMBER
    return int(text) if is_number else None


def _done(request: HttpRequest, wish: Wish) -> CartNow:
    """Apply the change. A visitor without a session gets one if copies are added. Raises CartError."""
    if digest_of(request) is None:
        if not wish.quantity and not wish.is_more:
            return CartNow()
        carts.check(wish.product_id, wish.quantity)
    change = carts.add if wish.is_more else carts.set_line
    return change(ensure_digest(request), wish.product_id, wish.quantity)


def _told(wish: Wish) -> str:
    """Return the confirmation of a change."""
    book = get_books([wish.product_id]).get(wish.product_id)
    title = book["title"] if book else _("a book that is no longer available")
    if not wish.quantity:
        return _("Removed from cart: %(title)s") % {"title": title}
    if wish.is_more:
        text = ngettext("Added to cart: %(title)s", "Added to cart: %(count)d copies of %(title)s", wish.quantity)
    else:
        text = ngettext(
            "Now in your cart: %(count)d copy of %(title)s",
            "Now in your cart: %(count)d copies of %(title)s",
            wish.quantity,
        )
    return text % {"count": wish.quantity, "title": title}


def _show(request: HttpRequest, now: CartNow, error: CartError | None = None) -> HttpResponse:
    know(request, now)
    status, page = 400 if error else 200, page_of(now)
    if wants_json(request):
        return json(_error(request, error) if error else page.as_json(), status)
    context: dict[str, Any] = {"page": page, "error": error, "wanted": _number(request.POST.get("product", ""))}
    part = "shop/_added.html" if _is_more(request) else "shop/_cart.html"
    template = part if is_partial(request) else "shop/cart.html"
    return render(request, template, context | {"is_part": is_partial(request)}, status=status)


def _error(request: HttpRequest, error: CartError) -> dict[str, Any]:
    product = _number(request.POST.get("product", ""))
    return {"error": {"message": str(error), "field": error.field, "product": product}}
