"""The pages of a guest's order, behind a signed link, and the claim of the order by a reader."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_event, get_client_address
from accounts.views import render_too_often
from common.paths import make_path
from common.refusals import Refused
from common.web import get_user_id, personal_page, redirect_to, redirect_to_view
from shop.forms import CARD_FIELDS, GuestLinkForm
from shop.models import Order
from shop.selectors.orders import OrderView, get_guest_order, is_claimed_order
from shop.services import orders as order_services
from shop.views.checkout import PayPage

LINK_LIMIT: Final = 10, 3600  # rate limit of asked links from one network address: number, period in seconds
PAGE_LIMIT: Final = 120, 600  # rate limit of pages from one network address: number, period in seconds


def guest_page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Decorate a page of a guest's order: no cache keeps it, no search engine lists it, and attempts are limited.

    After a claim, each link leads to the order in the reader's account, which asks for a login: emails had the links.
    """

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if wait := count_event("guest-pages", get_client_address(request), *PAGE_LIMIT):
            return render_too_often(request, wait, make_path("home"))
        try:
            response = view(request, *args, **kwargs)
        except Http404:
            if not is_claimed_order(kwargs.get("pk", 0), kwargs.get("token", "")):
                raise
            response = _redirect_to_account(request, kwargs["pk"])
        response["X-Robots-Tag"] = "noindex"
        return response

    return guarded


def find_guest_order(pk: int, token: str) -> OrderView:
    """Return the order of a link. Raises Http404."""
    found = get_guest_order(pk, token)
    if found is None:
        raise Http404
    return found


@require_safe
@guest_page
def order(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    """Show a guest's order. The template receives ``view``, a ``shop.selectors.orders.OrderView``."""
    return render(request, "shop/order.html", {"view": find_guest_order(pk, token)})


def _redirect_to_account(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect to the order in the account that has claimed it."""
    if not request.user.is_authenticated:
        messages.info(request, _("This order is in an account now. Log in to see it."))
    return redirect_to_view("shop:order", pk)


@require_http_methods(["GET", "HEAD", "POST"])
@guest_page
def send_link(request: HttpRequest) -> HttpResponse:
    """GET shows a form for the number and the email address of an order. POST emails the link to that address.

    The answer is the same whether there is such an order or not.
    """
    form = GuestLinkForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        if wait := count_event("guest-link", get_client_address(request), *LINK_LIMIT):
            return render_too_often(request, wait, make_path("shop:guest_link"))
        order_services.send_guest_link(form.cleaned_data["number"], form.cleaned_data["email"])
        messages.success(
            request, _("If there is an order with this number and email address, we have sent its link there.")
        )
        return redirect_to_view("shop:guest_link")
    return render(request, "shop/guest_link.html", {"form": form})


@require_http_methods(["GET", "HEAD", "POST"])
@guest_page
def cancel(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    """GET asks for confirmation. POST cancels the order; a cancelled order stays cancelled."""
    view = find_guest_order(pk, token)
    if request.method != "POST":
        if not view.can_be_cancelled:
            return redirect_to(view.links.order)
        return render(request, "shop/cancel_order.html", {"view": view})
    try:
        order_services.cancel_guest_order(pk)
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Your order was cancelled."))
    return redirect_to(view.links.order)


@method_decorator([sensitive_post_parameters(*CARD_FIELDS), guest_page], name="dispatch")
class Pay(PayPage):
    """Another attempt to pay for a guest's reserved order."""

    def find_view(self, request: HttpRequest, pk: int, token: str = "") -> OrderView | None:
        return find_guest_order(pk, token)


@require_http_methods(["GET", "HEAD", "POST"])
@guest_page
@personal_page
def claim(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    """GET asks whether the order belongs to the reader's account. POST adds it; the link ends then."""
    if Order.objects.of_user(get_user_id(request)).filter(pk=pk).exists():
        return redirect_to_view("shop:order", pk)
    view = find_guest_order(pk, token)
    if request.method != "POST":
        return render(request, "shop/claim_order.html", {"view": view})
    order_services.claim_order(pk, get_user_id(request))
    messages.success(request, _("The order is now in your account."))
    return redirect_to_view("shop:order", pk)
