"""The addresses that a reader saved."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.http import require_safe

from common.refusals import Refused
from common.web import get_user_id, json_response, personal_page, redirect_to_view, wants_json
from shop.forms import AddressForm
from shop.models import SavedAddress
from shop.selectors.addresses import fill_form, find_address, list_addresses
from shop.services import addresses as services


@require_safe
@personal_page
def addresses(request: HttpRequest) -> HttpResponse:
    """List the reader's addresses."""
    found = list_addresses(get_user_id(request))
    if wants_json(request):
        return json_response({"results": [_as_json(each) for each in found]})
    return render(request, "shop/addresses.html", {"addresses": found})


def _as_json(row: SavedAddress) -> dict[str, Any]:
    return {"id": row.pk, "name": row.name, "country": row.country, "parts": row.parts, "address": row.address}


@method_decorator(personal_page, name="dispatch")
class EditAddress(View):
    """Add an address (without ``pk``) or change one. POST with ``remove`` removes it.

    POST with ``refresh`` shows the form again with the fields of the chosen country, and saves nothing.
    """

    http_method_names = ["get", "head", "post", "options"]

    def get(self, request: HttpRequest, pk: int | None = None) -> HttpResponse:
        row = self._find(request, pk)
        return self._page(
            request, AddressForm(initial=fill_form(row) if row else {"country": settings.SELLER_COUNTRY}), row
        )

    def post(self, request: HttpRequest, pk: int | None = None) -> HttpResponse:
        row = self._find(request, pk)
        if row is not None and "remove" in request.POST:
            services.remove_address(get_user_id(request), row.pk)
            messages.success(request, _("The address was removed."))
            return redirect_to_view("shop:addresses")
        if "refresh" in request.POST:
            return self._page(request, AddressForm(initial=request.POST.dict()), row)
        form = AddressForm(request.POST)
        if not form.is_valid():
            return self._page(request, form, row)
        try:
            services.save_address(get_user_id(request), form.make_address(), row.pk if row else None)
        except Refused as refusal:
            return self._page(request, form, row, str(refusal))
        messages.success(request, _("The address was saved."))
        return redirect_to_view("shop:addresses")

    def _find(self, request: HttpRequest, pk: int | None) -> SavedAddress | None:
        row = find_address(get_user_id(request), pk) if pk is not None else None
        if pk is not None and row is None:
            raise Http404
        return row

    def _page(self, request: HttpRequest, form: AddressForm, row: SavedAddress | None, error: str = "") -> HttpResponse:
        return render(request, "shop/address.html", {"form": form, "row": row, "error": error})
