"""Parts of pages that contain forms. Each is rendered once for the same facts, and then only gets the visitor's token.

>>> render_for(request, "shop/_buy_box.html", {"product": 7, "cents": 1250, "left": 3})

The template knows nothing but the facts, which must be hashable, and the variable ``csrf_input``.
"""

import secrets
from collections.abc import Hashable, Mapping
from typing import Final

from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.urls import get_script_prefix
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from common.rendered import remember_rendered

MAX_BYTES: Final = 16_000_000  # of remembered parts; each takes 1 to 5 kB
# Stands for the field of the token. Readers do not know it, so no text of theirs contains it.
FIELD_PLACE: Final = mark_safe(secrets.token_hex(16))
_FIELD_OF_REQUEST: Final = "_csrf_field"


def render_for(request: HttpRequest, template: str, facts: Mapping[str, Hashable]) -> SafeString:
    """Return a template rendered with these facts, with the visitor's token in its forms."""
    pieces = _render_pieces(template, get_script_prefix(), tuple(facts.items()))
    if len(pieces) == 1:
        return pieces[0]
    return mark_safe(get_csrf_field(request).join(pieces))


@remember_rendered(MAX_BYTES, measure=lambda pieces: sum(map(len, pieces)))
def _render_pieces(template: str, script_prefix: str, facts: tuple[tuple[str, Hashable], ...]) -> list[SafeString]:
    """Return the text around the fields of the token. script_prefix: of the links in the text."""
    text = render_to_string(template, {**dict(facts), "csrf_input": FIELD_PLACE})
    return list(map(mark_safe, text.split(FIELD_PLACE)))


def get_csrf_field(request: HttpRequest) -> SafeString:
    """Return the field with the visitor's token. All forms of a page share it: each new one takes 60 us."""
    secret, field = getattr(request, _FIELD_OF_REQUEST, (None, None))
    if field is None or secret != request.META.get("CSRF_COOKIE"):
        field = format_html('<input type="hidden" name="csrfmiddlewaretoken" value="{}">', get_token(request))
        # With the secret, because a log-in within the request makes a new one.
        setattr(request, _FIELD_OF_REQUEST, (request.META["CSRF_COOKIE"], field))
    return field


# Evaluated only in a page with a form, because a page with a token differs for each visitor.
get_csrf_field_lazily = lazy(get_csrf_field, SafeString, str)
