"""Pages that answer in HTML or, if they are asked to, in JSON."""

from typing import Any, Final

import orjson
from django.http import HttpRequest, HttpResponse

JSON: Final = "application/json"


def wants_json(request: HttpRequest) -> bool:
    """By quality, then by order; also where a parameter (a charset) says no more than JSON says anyway."""
    preferred = request.get_preferred_type(["text/html", JSON])
    if preferred is None:
        return any((kind.main_type, kind.sub_type) == ("application", "json") for kind in request.accepted_types)
    return preferred == JSON


def is_partial(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page, and not for a page to stand in the place of this one."""
    headers = request.headers
    whole = "HX-Boosted" in headers or "HX-History-Restore-Request" in headers
    return "HX-Request" in headers and not whole


def json(content: Any, status: int = 200) -> HttpResponse:
    """``content`` as JSON."""
    return HttpResponse(orjson.dumps(content), content_type=JSON, status=status)
