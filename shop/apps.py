"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("shop")

    def ready(self) -> None:
        from shop import extras, price_sort, viewing_receivers  # noqa: F401  (receivers register on import)
        from shop.pagecache import allowed  # noqa: F401  (pages register on import)

        extras.register()
        price_sort.register()
