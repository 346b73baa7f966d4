"""The pages of returns: the form, and the slip for the parcel. Guests reach them by the signed link of their order."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from common.refusals import Refused
from common.web import get_user_id, personal_page, redirect_to
from shop.models import Return, ReturnState
from shop.returns.forms import ReturnForm
from shop.returns.rules import get_last_day, is_returnable, list_returnable_lines
from shop.returns.services import ask_for_return
from shop.selectors.orders import OrderView, get_order
from shop.seller import get_seller
from shop.services.errors import ReturnedMeanwhile
from shop.views.guests import find_guest_order, guest_page


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def return_books(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the form of a return of an own order. POST asks for it."""
    return _return_books(request, _find_own_order(request, pk), request.user)  # type: ignore[arg-type]


@require_http_methods(["GET", "HEAD", "POST"])
@guest_page
def return_guest_books(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    """Do the same for a guest."""
    return _return_books(request, find_guest_order(pk, token), None)


@require_safe
@personal_page
def slip(request: HttpRequest, pk: int, return_pk: int) -> HttpResponse:
    """Show the slip of an accepted return of an own order, to print."""
    return _show_slip(request, _find_own_order(request, pk), return_pk)


@require_safe
@guest_page
def guest_slip(request: HttpRequest, pk: int, token: str, return_pk: int) -> HttpResponse:
    """Do the same for a guest."""
    return _show_slip(request, find_guest_order(pk, token), return_pk)


def _find_own_order(request: HttpRequest, pk: int) -> OrderView:
    view = get_order(get_user_id(request), pk)
    if view is None:
        raise Http404
    return view


def _return_books(request: HttpRequest, view: OrderView, by: User | None) -> HttpResponse:
    lines = list_returnable_lines(view.order)
    if not lines or not is_returnable(view.order):
        messages.error(request, _("No book of this order can be returned any more."))
        return redirect_to(view.links.order)
    form, error = ReturnForm(lines, request.POST if request.method == "POST" else None), ""
    if form.is_valid():
        given = form.cleaned_data
        try:
            ask_for_return(view.order.pk, form.get_wanted(), given["note"], by=by, shown_left=given["shown_left"])
        except ReturnedMeanwhile as refusal:
            messages.error(request, str(refusal))
            return redirect_to(view.links.order)
        except Refused as refusal:
            error = str(refusal)
        else:
            text = _("We have your return, and answer by email.")
            if not view.order.gets_notices:
                text = _("We have your return. Our answer will be on this page.")
            messages.success(request, text)
            return redirect_to(view.links.order)
    last_day = get_last_day(view.order)
    page = {"view": view, "form": form, "error": error, "last_day": last_day}
    return render(request, "shop/return_books.html", page, status=409 if error else 200)


def _show_slip(request: HttpRequest, view: OrderView, return_pk: int) -> HttpResponse:
    states = (ReturnState.ACCEPTED, ReturnState.RECEIVED)
    found = Return.objects.filter(pk=return_pk, order=view.order, state__in=states).first()
    if found is None:
        raise Http404
    lines = found.lines.select_related("line").order_by("pk")
    context = {"view": view, "found": found, "lines": lines, "seller": get_seller()}
    return render(request, "shop/return_slip.html", context)
