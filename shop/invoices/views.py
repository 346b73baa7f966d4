"""Downloads of invoices and credit notes. Guests reach them by the signed link of their order."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.ratelimit import count_event
from accounts.views import render_too_often
from common.paths import make_path
from common.web import get_user_id, personal_page
from shop.invoices.models import Invoice
from shop.views.guests import find_guest_order, guest_page

# Rate limit of a reader's downloads: number, period in seconds. A document takes up to half a second to draw.
DOWNLOAD_LIMIT = 60, 600


@require_safe
@personal_page
def invoice(request: HttpRequest, pk: int, invoice_pk: int) -> HttpResponse:
    """Download a document of an own order."""
    user_id = get_user_id(request)
    if wait := count_event("invoices", user_id, *DOWNLOAD_LIMIT):
        return render_too_often(request, wait, make_path("shop:orders"))
    # Not order=: SQLite refuses an id beyond 2**63 there.
    return respond_with_pdf(Invoice.objects.filter(pk=invoice_pk, order__pk=pk, order__user=user_id).first())


@require_safe
@guest_page
def guest_invoice(request: HttpRequest, pk: int, token: str, invoice_pk: int) -> HttpResponse:
    """Do the same for a guest."""
    return respond_with_pdf(Invoice.objects.filter(pk=invoice_pk, order=find_guest_order(pk, token).order).first())


def respond_with_pdf(found: Invoice | None) -> HttpResponse:
    """Return the PDF of a document. Raises Http404 without one."""
    if found is None:
        raise Http404
    from shop.invoices.pdf import draw_invoice  # its libraries take 17 MB, which few processes need

    headers = {"Content-Disposition": f'inline; filename="{found.number}.pdf"'}
    return HttpResponse(draw_invoice(found), content_type="application/pdf", headers=headers)
