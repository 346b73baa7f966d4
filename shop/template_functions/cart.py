"""The link to the cart in the header of every page."""

from typing import Final

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from common.paths import make_path
from common.rendered import remember_rendered
from shop.carts.header import get_copies

MAX_BYTES: Final = 100_000  # of remembered links


@pass_context
def cart_link(context: Context, *, is_part: bool = False, is_elsewhere: bool = False) -> SafeString:
    """Render a link to the cart, with the number of copies if it is known and not 0. No SQL and no round trip.

    is_part: it is sent with a part of the page and htmx swaps it into the header. is_elsewhere: that page is not the
    cart.
    """
    request = context.get("request")
    copies = get_copies(request) if request is not None and hasattr(request, "session") else None
    is_here = request is not None and request.path == make_path("shop:cart") and not is_elsewhere
    return _render_cart_link(copies, is_here, is_part)


@remember_rendered(MAX_BYTES)
def _render_cart_link(copies: int | None, is_here: bool, is_part: bool) -> SafeString:
    return render_to_string("shop/_cart_link.html", {"copies": copies, "is_here": is_here, "is_part": is_part})
