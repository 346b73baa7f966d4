"""What the payment provider says by itself."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.payments import BadSignature, provider
from shop.services.payments import record

MOST_BYTES: Final = 10_000


@csrf_exempt
@require_POST
def callback(request: HttpRequest) -> HttpResponse:
    """204 when it is taken down, however often it comes; 403 when it is not the provider's.

    It is nobody's page: no session is opened, and what says who is speaking is the signature alone.
    """
    try:
        if int(request.headers.get("Content-Length") or 0) > MOST_BYTES:
            return HttpResponse(status=413)
        key, answer = provider().hear(request.body, request.headers)
    except (BadSignature, ValueError):
        return HttpResponse(status=403)
    record(key, answer)
    return HttpResponse(status=204)
