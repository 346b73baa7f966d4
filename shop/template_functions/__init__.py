"""Functions and filters of templates: prices, carts, sales and recommendations."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from shop.catalog_hooks.buy_box import build_offer_data
from shop.catalog_hooks.extras import render_card_price
from shop.delivery.names import label_delivery, translate_method
from shop.money import format_money, get_currency_sign
from shop.names import name_sale
from shop.products.rendered import render_price
from shop.template_functions import buying, cart, offers, recommended, viewed

FUNCTIONS: Final[Mapping[str, Any]] = {
    "buy_box": buying.buy_box,
    "card_price": render_card_price,
    "cart_link": cart.cart_link,
    "countdown": viewed.countdown,
    "cover_of_line": buying.cover_of_line,
    "currency_sign": get_currency_sign,
    "last_viewed": viewed.last_viewed,
    "most_viewed": viewed.most_viewed,
    "new_books": viewed.new_books,
    "offer_data": build_offer_data,
    "on_sale": viewed.on_sale,
    "percent_off": offers.percent_off,
    "price_line": render_price,
    "popular_books": viewed.popular_books,
    "recommended": recommended.recommended,
    "render_offer": offers.render_offer,
    "render_strip_offer": offers.render_strip_offer,
    "strip_book": viewed.render_strip_book,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "delivery_label": label_delivery,
    "money": format_money,
    "method_name": translate_method,
    "sale_name": name_sale,
}
