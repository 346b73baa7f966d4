"""The page of the cart, in HTML and in JSON (``Accept: application/json``)."""

from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.mirrors import BookMirror
from common.web import get_next_address, get_user_id, is_partial, json_response, redirect_to, wants_json
from shop.carts.header import remember_cart
from shop.carts.page import CartPage, make_cart_page
from shop.carts.reading import CartView, read_cart
from shop.delivery.hints import describe_delivery
from shop.services import carts
from shop.services.carts import CartError
from shop.visitors import ensure_session_digest, get_session_digest

MAX_DIGITS: Final = 18  # digits
HTTP_SEE_OTHER: Final = 303


class CartChange(NamedTuple):
    """A requested change of a line.

    is_more: add the quantity instead of setting it. before: the quantity that the page showed, which an undone removal
    restores; 0 if it is unknown.
    """

    product_id: int
    quantity: int
    is_more: bool = False
    before: int = 0

    @property
    def can_be_undone(self) -> bool:
        """Whether this removes a line and the page can offer to restore it."""
        return not self.quantity and not self.is_more and self.before > 0


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def cart(request: HttpRequest) -> HttpResponse:
    """GET shows the cart. The template receives ``page``, a ``shop.carts.page.CartPage``.

    POST takes ``product`` and ``quantity`` (0 removes the line), adds ``step`` to the quantity (the buttons beside
    it), and adds the quantity to that of the cart with ``add`` (not "0"). With ``before``, the quantity so far, the
    page offers to undo a removal. With ``place``, the number of a removed line, the keyboard focus moves to the line
    that takes its place. The response is the cart as JSON, as the part of the page that htmx asks for, or a redirect to
    the page. A visitor who adds from another page, or undoes that (``undo``), stays there: htmx receives a confirmation
    and the small cart below the header, other clients are redirected to ``next``. A refused change gives 400 and the
    reason, in JSON as ``{"error": {"message", "field", "product"}}``.
    """
    response = _change_cart(request) if request.method == "POST" else _show_cart(request)
    patch_vary_headers(response, ["Accept", "HX-Request"])
    return response


def _show_cart(request: HttpRequest) -> HttpResponse:
    now = read_cart(get_session_digest(request))
    removed = _parse_removal(request)
    # A restored line is not removed any more, although the address still says so.
    is_removed = removed is not None and removed.product_id not in now.lines
    return _render_cart(request, now, removed=removed if is_removed else None)


def _parse_removal(request: HttpRequest) -> CartChange | None:
    """Return the removal after which the browser was redirected to this page, or None."""
    product, before = (_parse_number(request.GET.get(name, "")) for name in ("removed", "before"))
    if not product or not before or min(product, before) < 0:
        return None
    return CartChange(product, 0, before=before)


def _change_cart(request: HttpRequest) -> HttpResponse:
    try:
        wish = _parse_change(request)
        now = _apply_change(request, wish)
    except CartError as error:
        return _render_cart(request, read_cart(get_session_digest(request)), error)
    if is_partial(request) and _is_elsewhere(request):
        return _render_added(request, wish, now)
    removed = wish if wish.can_be_undone else None
    if wants_json(request) or is_partial(request):
        return _render_cart(request, now, removed=removed)
    if removed is not None:
        query = urlencode({"removed": removed.product_id, "before": removed.before})
        return redirect_to(f"{reverse('shop:cart')}?{query}", status=HTTP_SEE_OTHER)
    messages.success(request, _describe_change(wish))
    return redirect_to(get_next_address(request, reverse("shop:cart")), status=HTTP_SEE_OTHER)


def _render_added(request: HttpRequest, wish: CartChange, now: CartView) -> HttpResponse:
    remember_cart(request, now)
    page = make_cart_page(now)
    line = next((line for line in page.lines if line.product_id == wish.product_id), None)
    context = {"page": page, "line": line, "wish": wish, "message": _describe_change(wish)}
    return render(request, "shop/_added.html", context)


def _parse_change(request: HttpRequest) -> CartChange:
    """Parse the requested change. Raises CartError."""
    product = _parse_number(request.POST.get("product", ""))
    if product is None or product < 0:
        raise CartError(_("Product not found."), "product")
    quantity = _parse_number(request.POST.get("quantity", ""))
    if quantity is None:
        raise CartError(_("Enter the quantity as a number."))
    if step := _parse_number(request.POST.get("step", "")):
        quantity = max(0, quantity + step)
    before = _parse_number(request.POST.get("before", ""))
    return CartChange(product, quantity, _is_addition(request), max(0, before or 0))


def _is_addition(request: HttpRequest) -> bool:
    return request.POST.get("add", "") not in ("", "0")


def _is_elsewhere(request: HttpRequest) -> bool:
    """Return whether the visitor changes the cart from another page than that of the cart."""
    return _is_addition(request) or "undo" in request.POST


def _parse_number(text: str) -> int | None:
    digits = text.strip().removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS
    return int(text) if is_number else None


def _apply_change(request: HttpRequest, wish: CartChange) -> CartView:
    """Apply the change. A visitor without a session gets one if copies are added. Raises CartError."""
    if get_session_digest(request) is None:
        if not wish.quantity and not wish.is_more:
            return CartView()
        carts.check_line(wish.product_id, wish.quantity)
    change = carts.add_copies if wish.is_more else carts.set_line
    return change(ensure_session_digest(request), wish.product_id, wish.quantity)


def _describe_change(wish: CartChange) -> str:
    """Return the confirmation of a change."""
    book = BookMirror.get(wish.product_id)
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


def _render_cart(
    request: HttpRequest, now: CartView, error: CartError | None = None, removed: CartChange | None = None
) -> HttpResponse:
    remember_cart(request, now)
    status, page = 400 if error else 200, make_cart_page(now)
    if wants_json(request):
        return json_response(_error_as_json(request, error) if error else page.as_json(), status)
    context: dict[str, Any] = {"page": page, "error": error, "wanted": _parse_number(request.POST.get("product", ""))}
    context["focused"] = _find_focused_line(request, page)
    user_id = get_user_id(request) if request.user.is_authenticated else None
    context["delivery"] = describe_delivery(page.total, now.lines, user_id) if page.is_buyable else None
    context["removed"] = removed and {"wish": removed, "message": _describe_change(removed)}
    part = "shop/_added.html" if _is_elsewhere(request) else "shop/_cart.html"
    template = part if is_partial(request) else "shop/cart.html"
    return render(request, template, context | {"is_part": is_partial(request)}, status=status)


def _find_focused_line(request: HttpRequest, page: CartPage) -> int | None:
    """Return the number of the line that gets the keyboard focus, or None.

    It is the line that takes the place of a removed one, or the last one, or a restored line.
    """
    ids, wanted = [line.product_id for line in page.lines], _parse_number(request.POST.get("product", ""))
    if wanted in ids:
        return ids.index(wanted) if "restore" in request.POST else None
    place = _parse_number(request.POST.get("place", "")) if is_partial(request) else None
    return None if place is None else max(0, min(place, len(ids) - 1))


def _error_as_json(request: HttpRequest, error: CartError) -> dict[str, Any]:
    product = _parse_number(request.POST.get("product", ""))
    return {"error": {"message": str(error), "field": error.field, "product": product}}
