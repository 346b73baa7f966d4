"""The pages that order the cart and pay for an order."""

from collections.abc import Iterable
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.ratelimit import count_event, get_client_address
from common import clock
from common.ids import parse_id
from common.middleware import allow_form_target
from common.paths import make_absolute, make_path
from common.refusals import Refused
from common.web import get_author, get_user_id, personal_page, redirect_window, require_login
from shop.carts import reading
from shop.forms import CARD_FIELDS, CheckoutForm, PayForm
from shop.models import Order, OrderState, PaymentState, SavedAddress
from shop.payments import PageRequest, TypedCard, get_provider
from shop.selectors.addresses import get_initial_address, list_addresses
from shop.selectors.checkout import make_checkout_page
from shop.selectors.links import make_links
from shop.selectors.orders import OrderView, get_order
from shop.seller import get_seller
from shop.services import checkout as services
from shop.services.addresses import save_address
from shop.services.errors import CartChanged, CartEmpty, DeliveryGone, NoDelivery, PriceRose, Shortage, SoldOut
from shop.services.payments import find_open_payment, open_payment_page, pay_order, refresh_payment
from shop.visitors import get_session_digest

SUBMISSION_LIMIT: Final = 100, 600  # rate limit of submissions per user: number, period in seconds
GUEST_LIMIT: Final = 30, 600  # of submissions from one network address, which several guests may share
HTTP_CONFLICT, HTTP_TOO_MANY = 409, 429


@method_decorator([sensitive_post_parameters(*CARD_FIELDS), never_cache], name="dispatch")
class Checkout(View):
    """GET shows the cart and the address form. POST creates the order and charges the card. No account is needed."""

    http_method_names = ["get", "head", "post", "options"]

    def get(self, request: HttpRequest) -> HttpResponse:
        now = reading.read_cart(get_session_digest(request))
        if not now.lines:
            return _leave_empty_cart(request)
        saved = list_addresses(get_user_id(request)) if request.user.is_authenticated else []
        chosen = self._choose_address(request, saved)
        form = CheckoutForm(initial=get_initial_address(request.user, chosen))
        return self._page(request, form, now=now, saved=saved)

    def _choose_address(self, request: HttpRequest, saved: list[SavedAddress]) -> SavedAddress | None:
        """Return the saved address of ``?saved=``, or the one that was used last."""
        wanted = parse_id(request.GET.get("saved", ""))
        return next((row for row in saved if wanted is None or row.pk == wanted), None)

    def post(self, request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated and get_session_digest(request) is None:
            return _explain_ended_session(request)
        if "refresh" in request.POST:
            # Another country: the form is shown again with its fields, and nothing is ordered.
            return self._page(request, CheckoutForm(initial=request.POST.dict()))
        form = CheckoutForm(request.POST)
        if wait := count_submission(request):
            return _set_too_many(self._page(request, form, _get_limit_message()), wait)
        if not form.is_valid():
            now = reading.read_cart(get_session_digest(request))
            return self._page(request, form, now=now) if now.lines else _leave_empty_cart(request)
        try:
            order = self._begin(request, form)
        except CartEmpty as refusal:
            messages.error(request, str(refusal))
            return redirect_window(request, make_path("shop:cart"))
        except SoldOut as refusal:
            return self._page(request, form, str(refusal), refusal.shortages, HTTP_CONFLICT)
        except (CartChanged, PriceRose, NoDelivery, DeliveryGone) as refusal:
            return self._page(request, form, str(refusal), status=HTTP_CONFLICT)
        if form.cleaned_data["save_address"] and request.user.is_authenticated:
            _save_address(request, form)
        return pay_and_redirect(request, order, form.cleaned_data["card"])

    def _begin(self, request: HttpRequest, form: CheckoutForm) -> Order:
        given, to = form.cleaned_data, form.make_address()
        digest, version, total = get_session_digest(request), given["version"], given["total"]
        if digest is None or version is None or total is None:
            raise CartChanged
        site = settings.SITE_URL[:200]
        address = services.OrderAddress(to.name, given["email"], to.text, site, to.country, to.parts, to.phone)
        return services.begin_checkout(
            request.user if request.user.is_authenticated else None,
            digest,
            version=version,
            total=total,
            address=address,
            method_id=given["delivery"],
        )

    def _page(
        self,
        request: HttpRequest,
        form: CheckoutForm,
        error: str = "",
        shortages: Iterable[Shortage] = (),
        status: int = 200,
        now: reading.CartView | None = None,
        saved: Iterable[SavedAddress] | None = None,
    ) -> HttpResponse:
        if saved is None and request.user.is_authenticated:
            saved = list_addresses(get_user_id(request))
        now = now or reading.read_cart(get_session_digest(request))
        cart = make_checkout_page(now, form.target, shortages)
        # A refused order keeps its form. Its books may have sold out in this moment.
        if not cart.is_buyable and not error:
            return _leave_empty_cart(request)
        today = timezone.localdate(clock.now())
        context = {"form": form, "error": error, "cart": cart, "saved": saved, "today": today}
        context |= {"seller": get_seller(), "return_days": settings.RETURN_DAYS}
        return _allow_provider_page(render(request, "shop/checkout.html", context, status=status), form)


def _allow_provider_page(response: HttpResponse, form: PayForm) -> HttpResponse:
    """Let the form of a page lead to the provider's page: browsers apply ``form-action`` to redirects as well."""
    if form.page:
        allow_form_target(response, form.page.origin)
    return response


def _save_address(request: HttpRequest, form: CheckoutForm) -> None:
    """Save the address of an order for the next one. The order is placed in any case."""
    try:
        save_address(get_user_id(request), form.make_address())
    except Refused as refusal:
        messages.warning(request, str(refusal))


def _explain_ended_session(request: HttpRequest) -> HttpResponse:
    # A reader whose login ended has the cart again after the next one, and the form is kept until then.
    if get_author(request):
        return require_login(request)
    # The cart of a guest ends with the session. An order from it, of which the page is lost, does not.
    messages.warning(request, _("Your session has ended and your cart is empty. Nothing was ordered."))
    return redirect_window(request, make_path("shop:guest_link"))


def _leave_empty_cart(request: HttpRequest) -> HttpResponse:
    return redirect_window(request, make_path("shop:cart"))  # which says why nothing can be ordered


class PayPage(View):
    """Another attempt to pay for a reserved order."""

    http_method_names = ["get", "head", "post", "options"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        view = self.find_view(request, **kwargs)
        if view is None:
            raise Http404
        if view.order.state != OrderState.RESERVED:
            return redirect_window(request, view.links.order)
        self.view = view
        return super().dispatch(request, *args, **kwargs)

    def find_view(self, request: HttpRequest, pk: int, token: str = "") -> OrderView | None:
        """Return the order of the address, or None if the visitor has no such order."""
        return get_order(get_user_id(request), pk)

    def get(self, request: HttpRequest, pk: int, token: str = "") -> HttpResponse:
        # A buyer returns from the provider's page, perhaps before its callback arrives.
        open_payment = find_open_payment(self.view.order) if get_provider().page else None
        if open_payment and not count_submission(request):
            refresh_payment(open_payment)
            order = Order.objects.get(pk=pk)
            if order.state != OrderState.RESERVED:
                _thank(request, order)
                return redirect_window(request, self.view.links.order)
        # The page of the order shows the reason.
        if not self.view.can_be_paid:
            return redirect_window(request, self.view.links.order)
        return self._page(request, PayForm())

    def post(self, request: HttpRequest, pk: int, token: str = "") -> HttpResponse:
        form = PayForm(request.POST)
        if wait := count_submission(request):
            return _set_too_many(self._page(request, form, _get_limit_message()), wait)
        if not form.is_valid():
            return self._page(request, form)
        return pay_and_redirect(request, self.view.order, form.cleaned_data["card"])

    def _page(self, request: HttpRequest, form: PayForm, error: str = "") -> HttpResponse:
        context = {"form": form, "error": error, "view": self.view}
        return _allow_provider_page(render(request, "shop/pay.html", context), form)


@method_decorator([sensitive_post_parameters(*CARD_FIELDS), personal_page], name="dispatch")
class Pay(PayPage):
    """Another attempt to pay for the user's own reserved order."""


def count_submission(request: HttpRequest) -> int:
    """Count a submission of a reader, or of a guest's network address. Return 0, or the seconds to wait."""
    if request.user.is_authenticated:
        return count_event("checkout", request.user.pk, *SUBMISSION_LIMIT)
    return count_event("guest-checkout", get_client_address(request), *GUEST_LIMIT)


def pay_and_redirect(request: HttpRequest, order: Order, card: TypedCard | None) -> HttpResponse:
    """Try to pay and redirect to the next page. card: None for an order that was shown as free."""
    links = make_links(order)
    if order.total == 0 and order.state == OrderState.PAID:
        messages.success(request, _("Thank you for your order. It is free."))
        return redirect_window(request, links.order)
    try:
        if get_provider().page:
            wanted = PageRequest(order.pk, order.email, make_absolute(links.pay))
            if not (address := open_payment_page(order, wanted)):
                messages.error(request, _("The payment page cannot be opened now. Try again in a moment."))
            return redirect_window(request, address or links.pay)
        # The order was made earlier from another window, when it was not free.
        if card is None:
            return redirect_window(request, links.pay)
        order = pay_order(order, card)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect_window(request, links.order)
    last = order.payments.latest("pk")
    if order.state == OrderState.PAID:
        _thank(request, order)
    elif last.state == PaymentState.FAILED:
        messages.error(request, _("Your card was declined. You were not charged. You can try another card."))
        return redirect_window(request, links.pay)
    return redirect_window(request, links.order)


def _thank(request: HttpRequest, order: Order) -> None:
    if order.state == OrderState.PAID:
        messages.success(request, _("Thank you. Your order is paid."))


def _get_limit_message() -> str:
    return _("Too many attempts. Try again in a few minutes.")


def _set_too_many(response: HttpResponse, wait: int) -> HttpResponse:
    response.status_code, response["Retry-After"] = HTTP_TOO_MANY, str(wait)
    return response
