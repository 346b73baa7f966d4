"""The price of a book as HTML, the same on cards, in strips and on the page of a book."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from common.rendered import remember_rendered
from shop.money import format_money

MAX_BYTES: Final = 1_000_000


@remember_rendered(MAX_BYTES)
def render_price(cents: int, was: int | None = None, later: int | None = None, size: str = "") -> SafeString:
    """Return a price in cents as a paragraph.

    was: the usual price if a sale reduces it. later: the price after the sale's cheaper part. size: a class of CSS.
    """
    reduced, now, before, after = "", SafeString(), SafeString(), SafeString()
    if was:
        reduced = " reduced"
        now = format_html('<span class="sr-only">{} </span>', gettext("Now"))
        before = format_html(
            ' <s class="was"><span class="sr-only">{} </span>{}</s>', gettext("was"), format_money(was)
        )
    if later is not None:
        after = format_html('<p class="later">{}</p>', gettext("then %(price)s") % {"price": format_money(later)})
    line = '<p class="price{}{}">{}<span class="now">{}</span>{}</p>{}'
    return format_html(line, size and f" {size}", reduced, now, format_money(cents), before, after)
