"""Links to orders, carts and sales on the pages of a reader, a book and a product."""

from typing import Any

from django.db.models import QuerySet, Sum
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import RelatedRows, count_related, link_to_list, register_related_rows
from accounts.models import User
from catalog.models import Book
from shop.carts.rules import count_copies
from shop.models import Cart, Order, OrderLine, Product, Sale, StockAlert
from shop.money import format_money
from shop.selectors.figures import KEPT_STATES, read_spending


def _find_carts(user: int) -> QuerySet[Cart]:
    return Cart.objects.filter(user=user)


def _count_copies_in_carts(user: User) -> int:
    return sum(count_copies(cart.content) for cart in _find_carts(user.pk))


register_related_rows(
    User,
    count_related(_("orders"), lambda pk: Order.objects.filter(user=pk), "user__id__exact"),
    RelatedRows(
        _("spent"),
        Order,
        lambda user: link_to_list(Order, user__id__exact=user.pk, state__in=",".join(KEPT_STATES)),
        lambda user: format_money(read_spending(user.pk)),
    ),
    RelatedRows(
        _("copies in carts"),
        Cart,
        lambda user: link_to_list(Cart, user__id__exact=user.pk),
        _count_copies_in_carts,
    ),
)


def _describe_product(row: Any) -> str | None:
    """Return the price of a book and the number of copies that can be bought, or None if the shop does not have it."""
    product = Product.objects.filter(pk=row.pk).first()
    if product is None:
        return None
    text = _("%(price)s, %(count)d left") if product.is_active else _("%(price)s, %(count)d left, not for sale")
    return text % {"price": format_money(product.price), "count": product.available}


def _count_sold_copies(row: Any) -> int:
    lines = OrderLine.objects.filter(product=row.pk, order__state__in=KEPT_STATES)
    return int(lines.aggregate(copies=Sum("quantity"))["copies"] or 0)


def _link_to_kept_orders(row: Any) -> str:
    return link_to_list(Order, lines__product__exact=row.pk, state__in=",".join(KEPT_STATES))


_of_product = (
    RelatedRows(
        _("stock history"),
        Product,
        lambda row: reverse("admin:shop_product_stock", args=[row.pk]),
        lambda row: "→" if Product.objects.filter(pk=row.pk).exists() else None,
    ),
    RelatedRows(_("copies sold"), Order, _link_to_kept_orders, _count_sold_copies),
    count_related(_("sales"), lambda pk: Sale.objects.filter(items__product=pk), "items__product__exact"),
    count_related(_("stock alerts"), lambda pk: StockAlert.objects.filter(product=pk), "product__exact"),
)
register_related_rows(
    Book,
    RelatedRows(
        _("product"), Product, lambda row: reverse("admin:shop_product_change", args=[row.pk]), _describe_product
    ),
    *_of_product,
)
register_related_rows(
    Product,
    RelatedRows(
        _("book"), Book, lambda row: reverse("admin:catalog_book_change", args=[row.pk]), lambda row: str(row.book)
    ),
    *_of_product,
)
