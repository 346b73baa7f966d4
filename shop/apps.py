"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("shop")

    def ready(self) -> None:
        from shop import (  # noqa: F401  (receivers register on import)
            cart_link,
            cart_receivers,
            checks,
            extras,
            price_sort,
            viewing_receivers,
        )
        from shop.pagecache import allowed  # noqa: F401  (pages register on import)

        cart_link.register()
        extras.register()
        price_sort.register()
