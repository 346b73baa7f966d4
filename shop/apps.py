"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("shop")

    def ready(self) -> None:
        from shop import checks, notification_kinds, personal  # noqa: F401  (checks register on import)
        from shop.book_views import receivers as viewing_receivers  # noqa: F401
        from shop.carts import header, receivers  # noqa: F401  (receivers register on import)
        from shop.catalog_hooks import extras, filters, sorts

        header.register_companion()
        extras.register()
        sorts.register()
        filters.register()
        personal.register_parts()
        notification_kinds.register_kinds()
