"""Callbacks of the payment provider."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.payments import BadSignature, get_provider
from shop.services.payments import record_answer

MAX_BYTES: Final = 100_000


@csrf_exempt
@require_POST
def callback(request: HttpRequest) -> HttpResponse:
    """Record a callback: 204, also when it is repeated; 403 if the signature is wrong; 413 if the body is too large.

    No session is opened. The signature alone identifies the sender.
    """
    try:
        # Before the body is read: anyone may send to this address.
        if int(request.headers.get("Content-Length") or 0) > MAX_BYTES:
            return HttpResponse(status=413)
        found = get_provider().decode_callback(request.body, request.headers)
    except (BadSignature, ValueError):
        return HttpResponse(status=403)
    # After the signature was checked. A repeated callback gets 204 as well, or the provider would go on sending it.
    if found is not None:
        record_answer(*found)
    return HttpResponse(status=204)
