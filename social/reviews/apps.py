"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReviewsConfig(AppConfig):
    name = "social.reviews"
    label = "reviews"
    verbose_name = _("reviews")

    def ready(self) -> None:
        from social.reviews import importing, personal, receivers  # noqa: F401  (receivers register on import)

        personal.register_parts()
        importing.register()
