"""Refuse request bodies that are not in UTF-8."""

import codecs
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from common.web.errors import bad_request

GetResponse = Callable[[HttpRequest], HttpResponse]


class Utf8Middleware:
    """Middleware that answers 400 to a body in any other encoding.

    Django itself refuses only URL-encoded forms in other encodings. In multipart forms some encodings break its parser,
    and UTF-7 produces lone surrogates, which cannot be stored or sent.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        charset = (request.content_params or {}).get("charset", "utf-8")
        return self.get_response(request) if _is_utf8(charset) else bad_request(request)


def _is_utf8(charset: str) -> bool:
    try:
        return codecs.lookup(charset).name in ("utf-8", "ascii")
    except (LookupError, ValueError):
        return False
