"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("shop")

    def ready(self) -> None:
        from shop import book_filters, checks, extras, personal, price_sort  # noqa: F401  (checks register on import)
        from shop.carts import link, receivers  # noqa: F401  (receivers register on import)
        from shop.pagecache import allowed  # noqa: F401  (pages register on import)
        from shop.viewing import receivers as viewing_receivers  # noqa: F401

        link.register_companion()
        extras.register()
        price_sort.register()
        book_filters.register()
        personal.register_parts()
