"""The way to the cart, in the head of every page."""

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from shop.carts.link import copies_of

register = template.Library()


@register.simple_tag(takes_context=True)
def cart_link(context: Context, *, is_part: bool = False, is_elsewhere: bool = False) -> SafeString:
    """A link to the cart, with the number of copies in it where that is known and not 0. No SQL, no round trip.

    is_part: it comes with a part of the page, and goes to its place by itself. is_elsewhere: that page is not that of
    the cart.
    """
    request = context.get("request")
    copies = copies_of(request) if request is not None and hasattr(request, "session") else None
    is_here = request is not None and request.path == "/shop/cart/" and not is_elsewhere
    return render_to_string("shop/_cart_link.html", {"copies": copies, "is_here": is_here, "is_part": is_part})
